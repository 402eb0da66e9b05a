/** A self-signed certificate for localhost, for tests only: clients here do not check it. */
export const certificate = {
  key: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg0g4DnAV+e+fRzhqP
tyaaxTsZm3egWAi1BIbAkbd5+xyhRANCAAQ3XwYbZgNz/uPzw6qF4gNLqOR+fte/
sRXY4wcIWu00Ety1joBtLD8YlYcpfME8CSFF6uHflF/HFCwnu0VhtjJe
-----END PRIVATE KEY-----`,
  cert: `-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUf+rZxQw8cbUz82+JdzwrEUmXG6EwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyMTA2MjMyNVoYDzIxMjYxMDI4
MDYyMzI1WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAQ3XwYbZgNz/uPzw6qF4gNLqOR+fte/sRXY4wcIWu00Ety1joBtLD8Y
lYcpfME8CSFF6uHflF/HFCwnu0VhtjJeo28wbTAdBgNVHQ4EFgQUf7Mu/YXngbuj
pcEqmjrkbcYzWlwwHwYDVR0jBBgwFoAUf7Mu/YXngbujpcEqmjrkbcYzWlwwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAMJdkTPnwT8Qqb1+Sl8OhS9/L5/8nK7qdlLw3SV1ISUaAiEA
4jH8I90CUOk+lqhdZ+EC4voMqmGjx/UmMTfQdwZ9vRc=
-----END CERTIFICATE-----`,
};
