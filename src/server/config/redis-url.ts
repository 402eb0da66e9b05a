/** The address of the Redis server that counts the quotas, or of some nodes of a Redis cluster. */
export interface RedisAddress {
  readonly nodes: readonly RedisNode[];
  readonly username?: string;
  readonly password?: string;
  /** The number of the database. A cluster has only number 0. */
  readonly db: number;
  readonly tls: boolean;
  /** The server's name in messages and logs, without user and password. */
  readonly name: string;
}

interface RedisNode {
  readonly host: string;
  readonly port: number;
}

const DEFAULT_PORT = 6_379;

/**
 * Parses `redis://user:password@host:port/db`, or `rediss:` for TLS. A cluster is given as several
 * URLs, separated by commas. They differ only in host and port, and only the first needs the user
 * and the password. Returns `undefined` for any other text.
 *
 * Also returns `undefined` if an unescaped character ends the password early. Messages would
 * otherwise show the rest of the password as the host name.
 */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const urls: URL[] = [];
  for (const part of text.split(/,(?=rediss?:\/\/)/)) {
    if (/\s/.test(part) || !URL.canParse(part)) return undefined;
    urls.push(new URL(part));
  }
  const [first] = urls;
  if (first === undefined || urls.some((url) => !isNode(url, first))) return undefined;
  const path = /^\/?(\d{0,4})$/.exec(first.pathname)?.[1];
  const db = Number(path);
  if (path === undefined || (urls.length > 1 && db !== 0)) return undefined;
  const credentials = credentialsOf(first);
  if (credentials === undefined) return undefined;
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? DEFAULT_PORT : Number(port),
  }));
  const places = urls.map(({ hostname }, index) => `${hostname}:${nodes[index]?.port}`);
  const name = `${first.protocol}//${places.join(',')}${db === 0 ? '' : `/${db}`}`;
  return { nodes, ...credentials, db, tls: first.protocol === 'rediss:', name };
}

function isNode(url: URL, first: URL): boolean {
  const { protocol, hostname, pathname, search, hash, username, password } = url;
  // The URL parser accepts several hosts, and returns them as one host name with commas.
  const isPlain =
    hostname !== '' && !hostname.includes(',') && pathname === first.pathname && search === '' && hash === '';
  const isAnonymous = username === '' && password === '';
  const isSame = username === first.username && password === first.password;
  return /^rediss?:$/.test(protocol) && protocol === first.protocol && isPlain && (isAnonymous || isSame);
}

/** Decodes the user and the password. Returns `undefined` if their percent-encoding is invalid. */
function credentialsOf({ username, password }: URL): Pick<RedisAddress, 'username' | 'password'> | undefined {
  try {
    return {
      ...(username !== '' && { username: decodeURIComponent(username) }),
      ...(password !== '' && { password: decodeURIComponent(password) }),
    };
  } catch {
    return undefined;
  }
}
