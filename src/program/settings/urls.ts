/**
 * Returns whether the URL is valid. An unescaped character that ends the password early makes it
 * invalid: messages would otherwise show the rest of the password as a host or database. The host
 * may be absent. The driver then takes it from a parameter of the URL, or uses its default.
 */
export function isPostgresUrl(url: string): boolean {
  return /^postgres(?:ql)?:\/\/[^/?#\s]*[^@#\s]*$/.test(url) && URL.canParse(url.replace('@/', '@host/'));
}

/** The address of the Redis server that counts the quotas, or of some nodes of a Redis cluster. */
export interface RedisAddress {
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly username?: string;
  readonly password?: string;
  /** The number of the database. A cluster has only number 0. */
  readonly db: number;
  /** What the names of records begin with, if not with the limiter's default. */
  readonly prefix?: string;
  readonly tls: boolean;
  /** The server's name in messages and logs, without user and password. */
  readonly name: string;
}

/** Matches the scheme, user, password, host, port, database and parameters of a Redis URL. */
const REDIS_URL =
  /^((?:redis|valkey)s?):\/\/(?:([^:@/?#\s]*)(?::([^@/?#\s]*))?@)?([^:@/?#\s,[\]]+|\[[\da-fA-F:.]+\])(?::(\d+))?(?:\/(\d*))?((?:[?&](?:prefix=[\w:.-]+|family=0))*)$/;

/** Returns whether a URL means Redis Sentinels. */
export const isSentinelUrl = (url: string): boolean => /^[\w+-]*sentinel[\w+-]*:/i.test(url);

/**
 * Parses `redis://user:password@host:port/db`, or `rediss:` for TLS. `valkey:` and `valkeys:` mean
 * the same. A cluster is given as several URLs, separated by commas. They differ only in host and
 * port, and only the first needs the user, the password and the parameters. Returns `undefined` for
 * any other text. As in {@link isPostgresUrl}, a password must be escaped.
 *
 * The parameter `prefix` replaces the beginning of the names of records. `family=0` is accepted,
 * because providers append it, and has no effect: names are always looked up in IPv4 and IPv6.
 */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const [first, ...more] = text.split(/,(?=(?:redis|valkey)s?:)/).map(parseNode);
  if (first === undefined) return undefined;
  const { scheme, username, password, db, prefix } = first;
  const nodes = [first];
  for (const node of more) {
    const isAnonymous = node?.username === undefined && node?.password === undefined;
    const isSame = node?.username === username && node?.password === password;
    if (node?.scheme !== scheme || node.db !== 0 || db !== 0 || !(isAnonymous || isSame)) return undefined;
    if (node.prefix !== null && node.prefix !== prefix) return undefined;
    nodes.push(node);
  }
  return {
    nodes: nodes.map(({ host, port }) => ({ host: host.replace(/^\[|\]$/g, ''), port })),
    ...(username && { username }),
    ...(password && { password }),
    db,
    ...(prefix !== null && { prefix }),
    tls: scheme === 'rediss' || scheme === 'valkeys',
    name: `${scheme}://${nodes.map(({ host, port }) => `${host}:${port}`).join(',')}${db === 0 ? '' : `/${db}`}`,
  };
}

function parseNode(url: string) {
  const [, scheme, username, password, host = '', port = '6379', db = '', query = ''] = REDIS_URL.exec(url) ?? [];
  // `canParse` also checks the port.
  if (scheme === undefined || !URL.canParse(url)) return undefined;
  try {
    return {
      scheme,
      username: username && decodeURIComponent(username),
      password: password && decodeURIComponent(password),
      host,
      port: Number(port),
      db: Number(db),
      prefix: new URLSearchParams(query).get('prefix'),
    };
  } catch {
    // The percent-encoding is invalid.
    return undefined;
  }
}
