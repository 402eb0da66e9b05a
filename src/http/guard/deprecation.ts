import { types } from 'node:util';
import { checkFields } from '../../check.js';

/** An announcement about an API operation, sent in the headers of the operation's responses. */
export interface Announcement {
  /** When the operation was or will be deprecated (RFC 9745). */
  readonly deprecatedAt?: Date | undefined;
  /** When the operation stops responding (RFC 8594). Must not be before `deprecatedAt`. */
  readonly sunsetAt?: Date | undefined;
  /** The URL of a page with details, for example on the replacement of the operation. */
  readonly documentation?: string | undefined;
}

/**
 * Returns the header fields `Deprecation`, `Sunset` and `Link` as pairs of name and value, which
 * `new Headers()` accepts. The relation of the link is `deprecation` if `deprecatedAt` is set (RFC
 * 9745 §3), otherwise `sunset` if `sunsetAt` is set (RFC 8594 §6), otherwise `service-doc` (RFC
 * 8631 §4.1). Throws a TypeError or RangeError that names the invalid option.
 */
export function announcementFields(announcement: Announcement): [name: string, value: string][] {
  checkFields('options', announcement, ['deprecatedAt', 'sunsetAt', 'documentation']);
  const { deprecatedAt, sunsetAt, documentation } = announcement;
  const fields: [string, string][] = [];
  if (deprecatedAt !== undefined) {
    fields.push(['Deprecation', `@${Math.floor(millisecondsOf('deprecatedAt', deprecatedAt) / 1_000)}`]);
  }
  if (sunsetAt !== undefined) {
    if (deprecatedAt !== undefined && millisecondsOf('sunsetAt', sunsetAt) < deprecatedAt.getTime()) {
      throw new RangeError('sunsetAt: expected an instant that is not before deprecatedAt');
    }
    fields.push(['Sunset', new Date(millisecondsOf('sunsetAt', sunsetAt)).toUTCString()]);
  }
  if (documentation !== undefined) {
    if (!URL.canParse(documentation)) throw new TypeError('documentation: expected an absolute URL');
    const relation = deprecatedAt !== undefined ? 'deprecation' : sunsetAt !== undefined ? 'sunset' : 'service-doc';
    fields.push(['Link', `<${new URL(documentation).href}>; rel="${relation}"; type="text/html"`]);
  }
  return fields;
}

function millisecondsOf(option: string, date: unknown): number {
  if (!types.isDate(date)) throw new TypeError(`${option}: expected a Date`);
  const dateMs = date.getTime();
  if (Number.isNaN(dateMs)) throw new RangeError(`${option}: expected a valid Date`);
  return dateMs;
}
