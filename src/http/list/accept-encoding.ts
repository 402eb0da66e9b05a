/** The supported content codings (RFC 9110 §8.4.1). The one that compresses best comes first. */
export type Coding = 'br' | 'gzip' | 'identity';

const CODINGS: readonly Coding[] = ['br', 'gzip', 'identity'];

const ALIASES: ReadonlyMap<string, string> = new Map([['x-gzip', 'gzip']]);

/**
 * Matches one list member of the field: a coding or `*`, with an optional weight of up to three
 * decimals.
 */
const MEMBER = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * Returns the content coding that the client prefers according to its `Accept-Encoding` (RFC 9110
 * §12.5.3). This is the supported coding with the highest weight. If several have that weight, it
 * is the one that compresses best. A coding that is not listed, even `identity`, has the weight of
 * `*`, or 0 if `*` is not listed. If the field accepts no supported coding, the result is
 * `identity`. Malformed list members are ignored. Short content is not compressed, unless the
 * client refuses `identity`.
 */
export function preferredCoding(acceptEncoding: string | undefined, isShort: boolean): Coding {
  // For short content, the field matters only if it refuses `identity` with a weight of zero.
  if (acceptEncoding === undefined || (isShort && !acceptEncoding.includes('=0'))) return 'identity';
  const weights = new Map<string, number>();
  for (const member of acceptEncoding.toLowerCase().split(',')) {
    const [, name = '', weight = '1'] = MEMBER.exec(member.trim()) ?? [];
    if (name !== '') weights.set(ALIASES.get(name) ?? name, Number(weight));
  }
  if (isShort && (weights.get('identity') ?? weights.get('*')) !== 0) return 'identity';
  let best: Coding = 'identity';
  let highest = 0;
  for (const coding of CODINGS) {
    const weight = weights.get(coding) ?? weights.get('*') ?? 0;
    if (weight > highest) [best, highest] = [coding, weight];
  }
  return best;
}
