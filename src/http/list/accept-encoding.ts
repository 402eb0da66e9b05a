/** The content codings (RFC 9110 §8.4.1) that this service has, the best first. */
export type Coding = 'br' | 'gzip' | 'identity';

const CODINGS: readonly Coding[] = ['br', 'gzip', 'identity'];

const ALIASES: ReadonlyMap<string, string> = new Map([['x-gzip', 'gzip']]);

/** One member: a coding or `*`, and perhaps its weight, with up to three decimals. */
const MEMBER = /^([!#$%&'*+.^_`|~0-9a-z-]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * The coding that a client likes best, by its `Accept-Encoding` (RFC 9110 §12.5.3): the one with
 * the highest weight, of equals the smallest. A client that names only codings, and not `identity`,
 * is sent one of them. Where nothing is acceptable, and where a member is malformed, it is as if
 * that had not been said. What is short is sent as it is, unless the client refuses that.
 */
export function preferredCoding(acceptEncoding: string | undefined, isShort: boolean): Coding {
  // Most clients refuse nothing: only a weight of zero does.
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
