# The client half of Hemera, and a client of its server, over hemera.c:
#
#   source("hemera.R")
#   client <- hemera_client("https://he.example.org", token)
#   hemera_predict(client, "study", x)
#
# Needs the packages curl and jsonlite, and hemera.so beside the working directory (docs/c.md).

dyn.load(Sys.getenv("HEMERA_R", "hemera.so"))

# A context of a file of parameters, a raw vector. A SecurityError for less than `security` bits; 0: any.
hemera_open <- function(file, security = 128L) .Call("hemera_r_open", as.raw(file), as.integer(security))

# A secret key, which `hemera_free`, or the end of the session, zeroes.
hemera_secret_key <- function(context) .Call("hemera_r_secret_key", context)
hemera_free <- function(secret) invisible(.Call("hemera_r_free_secret_key", secret))

# The file of the keys of a server's list, a raw vector. A SecurityError for keys of less security than the context has.
hemera_keys <- function(secret, needed) .Call("hemera_r_keys", secret, as.raw(needed))

# The file of a ciphertext of CKKS: of a matrix a batch of its rows, of a vector a single one.
hemera_encrypt <- function(secret, values, level = NA_integer_) {
  rows <- if (is.matrix(values)) nrow(values) else 0L
  if (is.matrix(values)) values <- t(values)
  .Call("hemera_r_encrypt", secret, as.double(values), as.integer(rows), as.integer(level))
}

# The numbers of a file's ciphertext, row after row.
hemera_decrypt <- function(secret, file) .Call("hemera_r_decrypt", secret, file)

hemera_client <- function(url, token, security = 128L) {
  list(url = sub("/+$", "", url), token = token, security = security, models = new.env())
}

request <- function(client, method, path, body = NULL, digest = NULL) {
  handle <- curl::new_handle(customrequest = method)
  headers <- list(Authorization = paste("Bearer", client$token), "Content-Type" = "application/octet-stream")
  headers[["Hemera-Model"]] <- digest
  curl::handle_setheaders(handle, .list = headers)
  if (!is.null(body)) curl::handle_setopt(handle, post = TRUE, postfieldsize = length(body), postfields = body)
  answer <- curl::curl_fetch_memory(paste0(client$url, path), handle)
  if (answer$status_code >= 300) {
    told <- tryCatch(jsonlite::fromJSON(rawToChar(answer$content))$error, error = function(e) list(code = "http"))
    stop("ServerError: ", answer$status_code, " ", told$code, ": ", told$message)
  }
  answer$content
}

words <- function(text) {
  data <- jsonlite::base64_dec(text)
  readBin(data, "integer", length(data) / 4, size = 4, endian = "little")
}

# The result of a model of one array in one ciphertext, for one sample, in row-major order. `name` is a model's, a
# version's as "study@2", or an alias. The first call makes a secret key, and sends keys; so does one that finds another
# version under the name.
hemera_predict <- function(client, name, x) {
  if (is.null(client$models[[name]])) return(predict_once(client, name, x))
  tryCatch(predict_once(client, name, x), error = function(e) {
    if (!grepl("ServerError: 409 model_changed", conditionMessage(e), fixed = TRUE)) stop(e)
    hemera_free(client$models[[name]]$secret)
    rm(list = name, envir = client$models)
    predict_once(client, name, x)
  })
}

# What decrypted values stand for, by the output's reading.
readings <- list(values = identity, truth = function(x) x > 0.5, integer = round)

predict_once <- function(client, name, x) {
  path <- paste0("/v1/models/", utils::URLencode(name, reserved = TRUE))
  if (is.null(client$models[[name]])) {
    told <- jsonlite::fromJSON(rawToChar(request(client, "GET", paste0(path, "/maps"))), simplifyVector = FALSE)
    if (length(told$inputs) != 1 || length(told$inputs[[1]]$ciphertexts) != 1 || !is.null(told$rows) ||
          length(told$outputs) != 1 || is.null(readings[[told$outputs[[1]]$read]])) {
      stop("this client is for models of one array in one ciphertext, and one result")
    }
    secret <- hemera_secret_key(hemera_open(jsonlite::base64_dec(told$parameters), client$security))
    keys <- hemera_keys(secret, jsonlite::base64_dec(told$keys))
    request(client, "PUT", paste0(path, "/keys"), keys, told$digest)
    client$models[[name]] <- list(told = told, secret = secret)
  }
  model <- client$models[[name]]
  input <- model$told$inputs[[1]]
  output <- model$told$outputs[[1]]
  given <- as.double(if (is.matrix(x)) t(x) else x)
  if (length(given) != prod(unlist(input$shape))) {
    stop("MismatchError: ", length(given), " numbers came, and the model takes ", prod(unlist(input$shape)))
  }
  low <- if (is.null(input$low)) -Inf else input$low
  high <- if (is.null(input$high)) Inf else input$high
  if (!all(is.finite(given) & given >= low & given <= high)) {
    stop("ParameterError: the model is for values from ", low, " to ", high)
  }
  if (!is.null(input$step) && any(abs(given / input$step - round(given / input$step)) > 1e-9)) {
    stop("ParameterError: the model is for multiples of ", input$step)
  }
  values <- c(0, (given - input$numbers[[1]]) / input$factors[[1]])
  one <- input$ciphertexts[[1]]
  rows <- max(1, one$batch)
  # In R's order of a matrix: [slots, rows].
  elements <- matrix(words(one$slots), ncol = rows)
  slots <- t(apply(elements, 2, function(row) rep_len(values[row + 2], one$count)))
  level <- if (is.null(one$level)) NA_integer_ else one$level
  file <- hemera_encrypt(model$secret, if (one$batch > 0) slots else as.vector(slots), level)
  found <- hemera_decrypt(model$secret, request(client, "POST", paste0(path, "/evaluate"), file, model$told$digest))
  places <- words(output$places)
  width <- length(found) / max(1, output$batch)
  found <- found[places %/% output$width * width + places %% output$width + 1]
  readings[[output$read]](found * output$factors[[1]] + output$numbers[[1]])
}
