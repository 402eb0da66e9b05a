wrk.method = "DELETE"
