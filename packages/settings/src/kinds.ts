import { BlockList, isIP, isIPv6 } from 'node:net';
import { compile } from '@fastify/proxy-addr';
import { z } from 'zod';

/** One kind of setting a function or schema; each error says, after "it", what the setting takes. */

export const port = (fallback: number) => {
  const error = 'takes a port number from 0 to 65535';
  return z.coerce.number({ error }).pipe(z.int({ error }).min(0, { error }).max(65_535, { error })).default(fallback);
};

/** A port for what may be left out: `off`, as is the default. */
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

/** A whole number above 0, at most `max`; `what` completes "takes". */
export const count = (what: string, max = Number.MAX_SAFE_INTEGER) => {
  const error = `takes ${what}`;
  return z.coerce.number({ error }).pipe(z.int({ error }).min(1, { error }).max(max, { error }));
};

/** A number of seconds from 0 to `max`. */
export const seconds = (max: number) => {
  const error = `takes a number of seconds from 0 to ${max}`;
  return z.coerce.number({ error }).pipe(z.number({ error }).min(0, { error }).max(max, { error }));
};

/** Where traces go, and of which part of the requests there are some. */
export const traces = {
  TRACES_URL: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), {
      error: 'takes the address of an OpenTelemetry collector, such as http://collector:4318/v1/traces',
    })
    .optional(),
  TRACES_RATIO: z.coerce
    .number({ error: 'takes a number from 0 to 1' })
    .pipe(
      z
        .number({ error: 'takes a number from 0 to 1' })
        .min(0, { error: 'takes a number from 0 to 1' })
        .max(1, { error: 'takes a number from 0 to 1' }),
    )
    .default(0.01),
};

/** What `traces` says; undefined: nothing is traced. */
export const readTraces = (env: {
  readonly TRACES_URL?: string | undefined;
  readonly TRACES_RATIO: number;
}): { readonly url: string; readonly ratio: number } | undefined =>
  env.TRACES_URL === undefined ? undefined : { url: env.TRACES_URL, ratio: env.TRACES_RATIO };

/** How a plane goes: for how long it says so while it serves on, and how long what runs then may take to end. */
export const drain = { DRAIN_DELAY_S: seconds(300).optional(), DRAIN_TIMEOUT_S: seconds(3600).default(30) };

/** In production there is a balancer that looks every few seconds who is ready. */
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

/** The bytes of a key that `keyText` accepted. */
export const keyBytes = (text: string): Buffer => Buffer.from(text, text.length === 64 ? 'hex' : 'base64');

/** A key with the other that is believed while one replaces the other; undefined: there is none. */
export const keysOf = (text: string, other: string | undefined): [Buffer, ...Buffer[]] => [
  keyBytes(text),
  ...(other === undefined ? [] : [keyBytes(other)]),
];

export const sessionSecret = z
  .string({ error: 'takes at least 32 characters' })
  .min(32, { error: 'takes at least 32 characters' });

/** Whether the user's name and password can be read out of a URL. */
function isEncoded(url: URL | null): boolean {
  try {
    return url !== null && decodeURIComponent(url.username + url.password) !== undefined;
  } catch {
    return false;
  }
}

const percentEncoded = ', with the special characters of a password percent-encoded';
const postgresError = 'takes a URL such as postgresql://user@host:5432/name';
/** The host may be left to `?host=`, the path of a socket. */
export const postgresUrl = z.string({ error: postgresError }).refine(
  (text) => {
    const url = URL.parse(text.replace(/^(\w+:\/\/[^@/]*@)\//, '$1localhost/'));
    // A `#`, or an `@` behind the host, is of a password that is not encoded.
    return /^postgres(ql)?:\/\/[^#]*$/.test(text) && url !== null && !url.pathname.includes('@');
  },
  { error: `${postgresError}${percentEncoded}` },
);

const redisError = 'takes a URL such as redis://host:6379';
/** One server, or several nodes of a cluster with commas between, of which the first alone needs its scheme. */
export const redisUrl = z.string({ error: redisError }).refine(
  (text) => {
    const [first = '', ...others] = text.split(',');
    const nodes = [first, ...others.map((node) => (node.includes('://') ? node : `redis://${node}`))];
    const hasNumber = /^\/?\d*$/.test(URL.parse(first)?.pathname ?? '') && !text.includes('#');
    const isNode = (node: string): boolean => /^rediss?:\/\//.test(node) && URL.parse(node)?.hostname !== '';
    return hasNumber && nodes.every((node) => isNode(node) && isEncoded(URL.parse(node)));
  },
  { error: `${redisError} or redis://host:6379/0${percentEncoded}` },
);

const originError = 'takes an origin such as https://api.example.com, without a path or a dot at the end of the host';
/** Clients refuse a host with a dot at its end: it names the same host, and would pass for another origin. */
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

const baseUrlError =
  'takes a base address such as https://mirror.example.com, without a slash at its end, query or password';
/** A base address that paths are put after. */
export const baseUrl = z.string({ error: baseUrlError }).refine(
  (text) => {
    const url = URL.canParse(text) ? new URL(text) : undefined;
    const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && !url.username && !url.password;
    return isPlain && !/[/?#]$|[?#]/.test(text);
  },
  { error: baseUrlError },
);

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export const logLevel = z.enum(logLevels, { error: `takes ${logLevels.slice(0, -1).join(', ')} or silent` });

/** How a broker does TLS; control is told as well, whose default for the broker's origin it makes. */
export const confidentialTls = z
  .enum(['self', 'files', 'off'], { error: 'takes `self`, `files` or `off`' })
  .default('self');

const fileError = 'takes the path of a file';
export const file = z.string({ error: fileError }).min(1, { error: fileError });

export type TrustProxy = false | string | ((address: string, hop: number) => boolean);

/** Which proxies' forwarded headers are believed: `off`, how many of them, or their addresses. */
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

/** Whether Fastify takes a list of addresses and networks: by what it reads them with. */
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

/** Reads an address, or a network as `address/bits`; undefined for anything else. */
function readSubnet(text: string): Subnet | undefined {
  const [address = '', bits, ...more] = text.trim().split('/');
  if (more.length > 0) return undefined;
  const family = isIPv6(address) ? 'ipv6' : 'ipv4';
  const most = family === 'ipv6' ? 128 : 32;
  if (isIP(address) === 0 || (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)))
    return undefined;
  return { address, family, bits: bits === undefined ? most : Number(bits) };
}

/** Names and addresses of this machine alone. */
export const loopbackHosts = ['127.0.0.1', '::1', 'localhost'] as const;

export const isLoopback = (host: string): boolean => loopbackHosts.some((known) => known === host);

/** Addresses and networks, or `off`. */
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

/** A switch: `on` or `off`. */
export const onOff = z.enum(['on', 'off'], { error: 'takes `on` or `off`' });
