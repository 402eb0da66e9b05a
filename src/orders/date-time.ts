const DATE_TIME =
  /^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * Reports whether the text is an RFC 3339 §5.6 date-time on a day that exists. `:60` is a leap
 * second, which is valid only at the end of a day in UTC.
 */
export function isDateTime(text: string): boolean {
  if (!DATE_TIME.test(text)) return false;
  const year = twoDigits(text, 0) * 100 + twoDigits(text, 2);
  const month = twoDigits(text, 5);
  const day = twoDigits(text, 8);
  const [hour, minute, second] = [twoDigits(text, 11), twoDigits(text, 14), twoDigits(text, 17)];
  const zone = text.length - '+00:00'.length;
  const hasOffset = text[zone] === '+' || text[zone] === '-';
  const [offsetHour, offsetMinute] = hasOffset ? [twoDigits(text, zone + 1), twoDigits(text, zone + 4)] : [0, 0];
  const offset = (offsetHour * 60 + offsetMinute) * (text[zone] === '-' ? -1 : 1);
  return (
    month >= 1 &&
    month <= 12 &&
    day >= 1 &&
    day <= daysIn(year, month) &&
    hour <= 23 &&
    minute <= 59 &&
    (second <= 59 || (second === 60 && isLastOfDay(hour * 60 + minute - offset))) &&
    offsetHour <= 23 &&
    offsetMinute <= 59
  );
}

function twoDigits(text: string, at: number): number {
  return (text.charCodeAt(at) - 0x30) * 10 + text.charCodeAt(at + 1) - 0x30;
}

const MINUTES_OF_DAY = 1_440;

/**
 * Reports whether this is the last minute of a day (23:59). `minute` is the number of minutes since
 * any midnight, and may be negative.
 */
function isLastOfDay(minute: number): boolean {
  return (minute + 1) % MINUTES_OF_DAY === 0;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
