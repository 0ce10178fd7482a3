import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import com.sun.jna.ptr.PointerByReference;

/** Numbers encrypted and decrypted over the C interface; the first argument is the least security. */
public class Client {
  @Structure.FieldOrder({"data", "bytes"})
  public static class Buffer extends Structure {
    public Pointer data;
    public long bytes;
  }

  public interface Hemera extends Library {
    int HIGHEST_LEVEL = -1;  // of 32 bits

    String hemera_error();

    void hemera_buffer_free(Buffer buffer);

    int hemera_ckks_parameters(long depth, int scaleBits, long slots, Buffer file);

    int hemera_context_open(Pointer file, long bytes, int leastSecurity, int threads, PointerByReference context);

    int hemera_secret_key_generate(Pointer context, PointerByReference key);

    void hemera_secret_key_free(Pointer key);

    int hemera_encrypt_doubles(
        Pointer secret, Pointer keys, double[] values, long rows, long count, int level, PointerByReference x);

    int hemera_decrypt_doubles(Pointer secret, Pointer ciphertext, Buffer values);
  }

  private static final Hemera HEMERA = Native.load("hemera_c", Hemera.class);

  private static void check(int status) {
    if (status != 0) {
      throw new IllegalStateException(HEMERA.hemera_error());
    }
  }

  public static void main(String[] arguments) {
    int leastSecurity = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 128;
    Buffer file = new Buffer();
    Buffer values = new Buffer();
    PointerByReference context = new PointerByReference();
    PointerByReference secret = new PointerByReference();
    PointerByReference x = new PointerByReference();
    check(HEMERA.hemera_ckks_parameters(1, 40, 1024, file));
    check(HEMERA.hemera_context_open(file.data, file.bytes, leastSecurity, 0, context));
    check(HEMERA.hemera_secret_key_generate(context.getValue(), secret));
    double[] numbers = {1.5, -2, 3};
    try {
      check(HEMERA.hemera_encrypt_doubles(secret.getValue(), null, numbers, 0, 3, Hemera.HIGHEST_LEVEL, x));
      check(HEMERA.hemera_decrypt_doubles(secret.getValue(), x.getValue(), values));
    } finally {
      HEMERA.hemera_secret_key_free(secret.getValue());
    }
    double[] slots = values.data.getDoubleArray(0, 3);
    System.out.println(slots[0] + " " + slots[1] + " " + slots[2]);
    HEMERA.hemera_buffer_free(values);
  }
}
