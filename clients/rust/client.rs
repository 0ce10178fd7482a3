//! Numbers encrypted and decrypted over the C interface; the first argument is the least security.
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
struct Buffer {
    data: *mut c_void,
    bytes: usize,
}

#[link(name = "hemera_c")]
extern "C" {
    fn hemera_error() -> *const c_char;
    fn hemera_buffer_free(buffer: *mut Buffer);
    fn hemera_ckks_parameters(depth: usize, scale_bits: i32, slots: usize, file: *mut Buffer) -> i32;
    fn hemera_context_open(file: *const c_void, bytes: usize, least_security: i32, threads: i32,
                           context: *mut *mut c_void) -> i32;
    fn hemera_secret_key_generate(context: *const c_void, key: *mut *mut c_void) -> i32;
    fn hemera_secret_key_free(key: *mut c_void);
    fn hemera_encrypt_doubles(secret: *const c_void, keys: *const c_void, values: *const f64, rows: usize,
                              count: usize, level: u32, ciphertext: *mut *mut c_void) -> i32;
    fn hemera_decrypt_doubles(secret: *const c_void, ciphertext: *const c_void, values: *mut Buffer) -> i32;
}

struct Secret(*mut c_void);

impl Drop for Secret {
    fn drop(&mut self) {
        unsafe { hemera_secret_key_free(self.0) }
    }
}

/// The text of a failure, which is of this thread.
fn checked(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(hemera_error()) }.to_string_lossy().into_owned())
}

fn main() -> Result<(), String> {
    let least_security = std::env::args().nth(1).map_or(128, |text| text.parse().unwrap());
    let numbers = [1.5, -2.0, 3.0];
    let mut file = Buffer { data: null_mut(), bytes: 0 };
    let mut values = Buffer { data: null_mut(), bytes: 0 };
    let (mut context, mut x) = (null_mut(), null_mut());
    let mut secret = Secret(null_mut());
    unsafe {
        checked(hemera_ckks_parameters(1, 40, 1024, &mut file))?;
        checked(hemera_context_open(file.data, file.bytes, least_security, 0, &mut context))?;
        checked(hemera_secret_key_generate(context, &mut secret.0))?;
        checked(hemera_encrypt_doubles(secret.0, null(), numbers.as_ptr(), 0, 3, u32::MAX, &mut x))?;
        checked(hemera_decrypt_doubles(secret.0, x, &mut values))?;
        let slots = std::slice::from_raw_parts(values.data as *const f64, values.bytes / 8);
        println!("{} {} {}", slots[0], slots[1], slots[2]);
        hemera_buffer_free(&mut values);
    }
    Ok(())
}
