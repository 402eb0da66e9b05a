/** The supported content codings (RFC 9110 §8.4.1). */
export type Coding = 'br' | 'gzip' | 'identity';

/** The coding that compresses best comes first. */
const CODINGS: readonly Coding[] = ['br', 'gzip', 'identity'];

/** Matches a coding or `*`, with an optional weight of up to three decimals. */
const MEMBER = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * Returns the supported content coding with the highest weight in `Accept-Encoding` (RFC 9110
 * §12.5.3). Of several with that weight, returns the one that compresses best. A coding that is not
 * listed, even `identity`, has the weight of `*`, or 0 without `*`. If no supported coding is
 * accepted, the result is `identity`, even if that is excluded: a server may disregard the field
 * (§12.4.1), and a client has more use for the list than for a 406. Malformed list members are
 * ignored.
 */
export function preferredCoding(acceptEncoding: string | undefined): Coding {
  if (acceptEncoding === undefined) return 'identity';
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [, name = '', weight = '1'] = MEMBER.exec(member.trim()) ?? [];
    // The former name of gzip (RFC 9110 §8.4.1.3).
    weights.set(name === 'x-gzip' ? 'gzip' : name, Number(weight));
  }
  const accepted = CODINGS.map((coding) => ({ coding, weight: weights.get(coding) ?? weights.get('*') ?? 0 }));
  const [best] = accepted.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  return best?.coding ?? 'identity';
}

/**
 * Returns a strong entity tag. Each coding has a different one (RFC 9110 §8.8.3.3). It does not end
 * with `-gzip`, because Caddy and Apache add that to the tags of what they compress, and Caddy
 * removes it from `If-None-Match`.
 */
export function entityTag(digest: string, coding: Coding): string {
  return coding === 'identity' ? `"${digest}"` : `"${digest}.${coding}"`;
}

const TAGS = /(W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Matches a list of tags, whose members can be empty (RFC 9110 §5.6.1 and §8.8.3). */
const TAG_LIST = /^(?:[ \t]*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"[ \t]*)?(?:,|$))*$/;

/**
 * Reports whether `field` is `*` or contains `tag` (RFC 9110 §8.8.3.2, §13.1.1, §13.1.2). Use
 * `strong` for `If-Match` and `weak` for `If-None-Match`. The weak comparison ignores a prefix `W/`
 * of the tags in `field`. A malformed list contains no tag.
 */
export function namesTag(field: string, tag: string, comparison: 'strong' | 'weak'): boolean {
  if (field.trim() === '*') return true;
  if (!TAG_LIST.test(field)) return false;
  for (const [, weak, listed] of field.matchAll(TAGS)) {
    if (listed === tag && (weak === undefined || comparison === 'weak')) return true;
  }
  return false;
}
