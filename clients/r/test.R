# Rscript test.R PARAMETERS URL MODEL...: what it encrypts it decrypts, errors are the library's, and a server answers;
# the token is in HEMERA_TOKEN. Prints the server's results of each model.
source(file.path(dirname(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE))), "hemera.R"))
arguments <- commandArgs(trailingOnly = TRUE)
message_of <- function(what) tryCatch({ what; "" }, error = conditionMessage)

context <- hemera_open(readBin(arguments[1], "raw", 1e6))
secret <- hemera_secret_key(context)
rows <- rbind(c(1, -2, 0.5, 4), c(5, 6, 7, 8))
file <- hemera_encrypt(secret, rows)
stopifnot(max(abs(hemera_decrypt(secret, file) - as.vector(t(rows)))) < 1e-5)
stopifnot(startsWith(message_of(hemera_decrypt(secret, file[-1])), "FormatError: "))
stopifnot(startsWith(message_of(hemera_keys(secret, as.raw(1:100))), "FormatError: "))
stopifnot(startsWith(message_of(hemera_open(raw(3))), "FormatError: "))
hemera_free(secret)
stopifnot(grepl("freed", message_of(hemera_decrypt(secret, file))))

client <- hemera_client(arguments[2], Sys.getenv("HEMERA_TOKEN"))
x <- (1:100 %% 17) / 17
first <- hemera_predict(client, "study", x)
stopifnot(max(abs(first - hemera_predict(client, "study", x))) < 1e-5)
stopifnot(startsWith(message_of(hemera_predict(client, "study", x + 1)), "ParameterError: "))
stopifnot(startsWith(message_of(hemera_predict(client, "study", x[-1])), "MismatchError: "))
stopifnot(grepl("unknown_model", message_of(hemera_predict(client, "absent", x))))
# A description of another model under the name, which the server refuses: the client asks for it anew.
client$models[["study"]]$told$digest <- strrep("0", 64)
stopifnot(max(abs(first - hemera_predict(client, "study", x))) < 1e-5)
for (name in arguments[-(1:2)]) cat(format(hemera_predict(client, name, x), digits = 15), sep = "\n")
