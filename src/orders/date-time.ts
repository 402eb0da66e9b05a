const LEAP_YEAR = '(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)';
const DAYS = [
  '(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])',
  '(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)',
  '02-(?:0[1-9]|1[0-9]|2[0-8])',
].join('|');
const MINUTE = '(?:[01][0-9]|2[0-3]):[0-5][0-9]';
const DECIMALS = '(?:[.][0-9]{1,38})?';
const TIME = `(?:${MINUTE}:[0-5][0-9]${DECIMALS}(?:[Zz]|[+-]${MINUTE})|23:59:60${DECIMALS}[Zz])`;

/**
 * A regular expression, for JavaScript and PostgreSQL, that matches an RFC 3339 §5.6 date-time on a
 * day that exists. A leap second must be in UTC. A second has at most 38 decimals, so that the text
 * has at most 64 characters.
 */
export const DATE_TIME_PATTERN = `^(?:[0-9]{4}-(?:${DAYS})|${LEAP_YEAR}-02-29)[Tt]${TIME}$`;
