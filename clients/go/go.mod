module hemera

go 1.19
