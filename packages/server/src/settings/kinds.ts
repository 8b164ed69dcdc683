import { BlockList, isIP, isIPv6 } from 'node:net';
import { compile } from '@fastify/proxy-addr';
import * as z from 'zod';

/** One schema per kind of setting. Each error completes a sentence that begins with "it": "takes a port number". */

export const port = (fallback: number) => {
  const error = 'takes a port number from 0 to 65535';
  return z.coerce.number({ error }).pipe(z.int({ error }).min(0, { error }).max(65_535, { error })).default(fallback);
};

/** The port of an optional listener. Default: `off`. */
export const portOrOff = z
  .string()
  .default('off')
  .transform((text, context) => {
    if (text === 'off') return undefined;
    const number = Number(text);
    if (/^\d+$/.test(text) && number <= 65_535) return number;
    context.addIssue({ code: 'custom', message: 'takes `off` or a port number from 0 to 65535' });
    return z.NEVER;
  });

/** A whole number from 1 to `max`. `what` completes "takes". */
export const count = (what: string, max = Number.MAX_SAFE_INTEGER) => {
  const error = `takes ${what}`;
  return z.coerce.number({ error }).pipe(z.int({ error }).min(1, { error }).max(max, { error }));
};

/** A number from 0 to `max`. `what` is its kind. */
export const upTo = (what: string, max: number) => {
  const error = `takes ${what} from 0 to ${max}`;
  return z.coerce.number({ error }).pipe(z.number({ error }).min(0, { error }).max(max, { error }));
};

export const seconds = (max: number) => upTo('a number of seconds', max);

/** Reads the settings of traces. Undefined: nothing is traced. */
export const readTraces = (env: {
  readonly TRACES_URL?: string | undefined;
  readonly TRACES_RATIO: number;
}): { readonly url: string; readonly ratio: number } | undefined =>
  env.TRACES_URL === undefined ? undefined : { url: env.TRACES_URL, ratio: env.TRACES_RATIO };

/** Reads which media operations a deployment offers. */
export const readMedia = (env: {
  readonly IMAGE_GENERATION: 'on' | 'off';
  readonly SPEECH_SYNTHESIS: 'on' | 'off';
}): { readonly image: boolean; readonly speech: boolean } => ({
  image: env.IMAGE_GENERATION === 'on',
  speech: env.SPEECH_SYNTHESIS === 'on',
});

/** Reads the settings of a shutdown. In production, a load balancer needs some seconds to notice that a process is not ready. */
export const readDrain = (env: {
  readonly DRAIN_DELAY_S?: number | undefined;
  readonly DRAIN_TIMEOUT_S: number;
  readonly NODE_ENV?: string | undefined;
}): { readonly announceMs: number; readonly graceMs: number } => ({
  announceMs: (env.DRAIN_DELAY_S ?? (env.NODE_ENV === 'production' ? 5 : 0)) * 1000,
  graceMs: env.DRAIN_TIMEOUT_S * 1000,
});

const keyPattern = /^[A-Za-z0-9+/_-]{43}=?$|^[0-9a-fA-F]{64}$/;
const keyError = 'takes 32 bytes as base64 or as 64 hex characters';

/** A 32-byte key as text. */
export const keyText = z.string({ error: keyError }).regex(keyPattern, { error: keyError });

const keyBytes = (text: string): Buffer => Buffer.from(text, text.length === 64 ? 'hex' : 'base64');

/** A 32-byte key. */
export const key = keyText.transform(keyBytes);

/** A secret and, during a rotation, the second accepted one. */
export const withOther = <T>(present: T, other: T | undefined): readonly [T, ...T[]] =>
  other === undefined ? [present] : [present, other];

export const sessionSecret = z
  .string({ error: 'takes at least 32 characters' })
  .min(32, { error: 'takes at least 32 characters' });

/** Whether user name and password of a URL are correctly percent-encoded. */
function isEncoded(url: URL | null): boolean {
  try {
    return url !== null && decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

const percentEncoded = ', with the special characters of a password percent-encoded';
const postgresError = 'takes a URL such as postgresql://user@host:5432/name';
/** Without a host, `?host=` has the path of a socket. */
export const postgresUrl = z.string({ error: postgresError }).refine(
  (text) => {
    const url = URL.parse(text.replace(/^(\w+:\/\/[^@/]*@)\//, '$1localhost/'));
    // A `#`, or an `@` after the host, comes from a password that is not percent-encoded.
    return /^postgres(ql)?:\/\/[^#]*$/.test(text) && url !== null && !url.pathname.includes('@');
  },
  { error: `${postgresError}${percentEncoded}` },
);

const redisError = 'takes a URL such as redis://host:6379';
const redisNodes = (text: string): (URL | null)[] => {
  const scheme = text.split('://')[0];
  return text.split(',').map((node) => URL.parse(node.includes('://') ? node : `${scheme}://${node}`));
};
const databaseOf = (node: URL | null | undefined): number => Number(node?.pathname.slice(1));
/** One server, or the nodes of a cluster, separated by commas. Only the first needs a scheme. */
export const redisUrl = z
  .string({ error: redisError })
  .refine(
    (text) => {
      const nodes = redisNodes(text);
      const hasNumber = /^\/?\d*$/.test(nodes[0]?.pathname ?? '') && !text.includes('#');
      const isNode = (node: URL | null): boolean => /^rediss?:$/.test(node?.protocol ?? '') && node?.hostname !== '';
      return hasNumber && nodes.every((node) => isNode(node) && isEncoded(node));
    },
    { error: `${redisError} or redis://host:6379/0${percentEncoded}` },
  )
  .refine(
    (text) => {
      const [first, ...others] = redisNodes(text);
      return others.every(
        (node) =>
          node?.protocol === first?.protocol &&
          ['', first?.username].includes(node?.username) &&
          ['', first?.password].includes(node?.password) &&
          (/^\/?$/.test(node?.pathname ?? '') || databaseOf(node) === databaseOf(first)),
      );
    },
    { error: 'takes protocol, user, password and database from the first host, so no later host has others' },
  )
  .refine((text) => redisNodes(text).every((node) => node?.searchParams.getAll('cluster').every((on) => on === '1')), {
    error: 'takes `?cluster=1` for a cluster, and no `cluster` for a single server',
  });

const originError = 'takes an origin such as https://api.example.com, without a path or a dot at the end of the host';
/** Clients refuse a host that ends with a dot, because it names the same host but compares as another origin. */
export const origin = z.string({ error: originError }).refine(
  (text) => {
    const url = URL.parse(text);
    return url?.origin === text && !url.hostname.endsWith('.');
  },
  { error: originError },
);

export const httpsOrigin = origin.refine((text) => text.startsWith('https://'), {
  error: 'takes an origin that begins with https://',
});

const hostPortError = 'takes a host and a port such as balancer:4001';
/** A host, or an IPv6 address in brackets, and a port. */
export const hostPort = z.string({ error: hostPortError }).transform((text, context) => {
  const [, host, port] = /^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})$/.exec(text) ?? [];
  if (host !== undefined && Number(port) <= 65_535)
    return { hostname: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  context.addIssue({ code: 'custom', message: hostPortError });
  return z.NEVER;
});

const baseUrlError =
  'takes a base address such as https://mirror.example.com, without a slash at its end, query or password';
/** A base address that paths are appended to. */
export const baseUrl = z.string({ error: baseUrlError }).refine(
  (text) => {
    const url = URL.parse(text);
    const isPlain = url !== null && /^https?:$/.test(url.protocol) && !url.username && !url.password;
    return isPlain && !/\/$|[?#]/.test(text);
  },
  { error: baseUrlError },
);

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export const logLevel = z.enum(logLevels, { error: `takes ${logLevels.slice(0, -1).join(', ')} or silent` });

const fileError = 'takes the path of a file';
export const file = z.string({ error: fileError }).min(1, { error: fileError });

export type TrustProxy = false | string | ((address: string, hop: number) => boolean);

/** The proxies whose forwarded headers are trusted: `off`, their number, or their addresses. */
export const trustProxy = z
  .string()
  .default('off')
  .transform((text, context): TrustProxy => {
    if (text === 'off') return false;
    if (/^\d{1,2}$/.test(text)) return (_address, hop) => hop < Number(text);
    if (!/^\d+$/.test(text) && isTrusted(text)) return text;
    const message =
      'takes `off`, how many proxies (at most 99), or their addresses and networks with commas between, such as 10.0.0.0/8';
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });

/** Whether Fastify accepts a list of addresses and networks. Uses Fastify's own parser. */
function isTrusted(text: string): boolean {
  try {
    compile(text.split(',').map((entry) => entry.trim()));
    return true;
  } catch {
    return false;
  }
}

interface Subnet {
  readonly address: string;
  readonly family: 'ipv4' | 'ipv6';
  readonly bits: number;
}

/** Reads an address, or a network as `address/bits`. Returns undefined for anything else. */
function readSubnet(text: string): Subnet | undefined {
  const [address = '', bits, ...more] = text.trim().split('/');
  if (more.length > 0) return undefined;
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const most = family === 'ipv6' ? 128 : 32;
  if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
    return undefined;
  return { address, family, bits: bits === undefined ? most : Number(bits) };
}

export const loopbackHosts = ['127.0.0.1', '::1', 'localhost'] as const;

export const isLoopback = (host: string): boolean => loopbackHosts.some((known) => known === host);

/** Whether a text is an https URL, or an http URL on loopback, without a user, a query or a fragment. */
export function isSafeUrl(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.search !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname.replace(/^\[|\]$/g, '')));
}

export const addresses = z
  .string()
  .default('off')
  .transform((text, context) => {
    if (text === 'off') return undefined;
    const list = new BlockList();
    for (const entry of text.split(',')) {
      const subnet = readSubnet(entry);
      if (subnet === undefined) {
        const message = 'takes `off` or addresses and networks with commas between, such as 10.0.0.0/8,192.0.2.7';
        context.addIssue({ code: 'custom', message });
        return z.NEVER;
      }
      list.addSubnet(subnet.address, subnet.bits, subnet.family);
    }
    return list;
  });

export const onOff = z.enum(['on', 'off'], { error: 'takes `on` or `off`' });
