/**
 * Matches an empty text, or path segments of characters that need no escaping (RFC 3986 §3.3), not
 * even in HTML, or in the quotes of the documentation's samples: all but ' and &.
 */
export const BASE_PATH = /^(?:\/(?!\.\.?(?:\/|$))[A-Za-z0-9._~!$()*+,;=:@-]+)*$/;

export const BASE_PATH_EXPECTED =
  'expected "" or a path such as "/v1", with a slash before each segment and none after the last';
