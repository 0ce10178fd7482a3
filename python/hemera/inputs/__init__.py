"""From what callers give, arrays, numbers, files and arguments of any type, to what the core takes."""
