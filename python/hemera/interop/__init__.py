"""Stock libraries as clients: their keys and ciphertexts in, results out.

from hemera.interop import openfhe, seal

s = seal.Session("parms.seal", device="cuda", scale=2.0**40)
s.load_keys(relinearization="relin.seal", galois="galois.seal")
x = s.load_ciphertext("x.seal")
y = (x * x + 0.5).rotate(1)
data = s.dump_ciphertext(y)
"""
