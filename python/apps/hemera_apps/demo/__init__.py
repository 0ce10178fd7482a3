"""The demonstration: a server scores tumours that it can not see.

`model` trains in the clear, `client` and `server` exchange nothing but bytes, `pipeline` times them and
compares with the clear result, and `report` prints. `layout` is what both sides agree on.
"""
