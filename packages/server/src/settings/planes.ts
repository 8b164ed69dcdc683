import { z } from 'zod';
import * as kinds from './kinds.ts';
import { type Environment, readSettings, type Settings } from './read-settings.ts';

const tlsError =
  'takes `self` (a key generated inside), `files` (with TLS_CERT_FILE and TLS_KEY_FILE) or `off` (for `localhost` only)';

/** The values of ATTESTATION (docs/operate/confidential-vm.md). */
export const attestationModes = ['auto', 'configfs', 'dstack', 'simulated', 'off'] as const;
const attestationError = `takes ${attestationModes.slice(0, -1).join(', ')} or off`;

/** Settings that are needed before there are secrets. */
export const brokerEarlySchema = z.object({
  KEEPER_ORIGIN: kinds.httpsOrigin
    .optional()
    .describe('Keeper that releases the secrets once the broker has proven itself. Set `KEEPER_CA_FILE` with it.'),
  KEEPER_CA_FILE: kinds.file
    .optional()
    .describe("Certificates, as PEM, that the keeper's own certificate may be signed by."),
  ATTESTATION: z
    .enum(attestationModes, { error: attestationError })
    .default('auto')
    .describe('Source of the evidence about this broker. `auto` takes the first that the machine has.'),
  ATTESTATION_COLLATERAL_URL: kinds.baseUrl
    .optional()
    .describe(
      'Mirror (PCCS) to load collateral for TDX quotes from. The default is Intel. Signatures make any mirror safe.',
    ),
  PROVIDERS_FILE: kinds.file
    .optional()
    .describe('Providers and their routes, as YAML, read at start. The default is built in.'),
  LOG_LEVEL: kinds.logLevel.default('info').describe('Least severe level that is logged.'),
  NODE_ENV: z
    .string()
    .optional()
    .describe(
      'With `production`, the broker needs durable Redis, `node --disable-sigusr1` and `ulimit -c 0`, and simulates no evidence.',
    ),
});

/** Every setting that a broker reads. */
export const brokerSchema = z.object({
  ...brokerEarlySchema.shape,
  CONFIDENTIAL_PORT: kinds.port(4001).describe('Port that the broker listens on.'),
  HOST: z.string().default('0.0.0.0').describe('Address that the broker listens on.'),
  REDIS_URL: kinds.redisUrl.describe(
    'Redis 7 or Valkey, shared with control. List several hosts, or add `?cluster=1`, for a cluster.',
  ),
  IMAGE_GENERATION: kinds.onOff.default('off').describe('Enables image generation. Set it on control and the broker.'),
  SPEECH_SYNTHESIS: kinds.onOff.default('off').describe('Enables speech synthesis. Set it on control and the broker.'),
  TICKET_SEALING_KEY: kinds.keyText.describe('Decrypts tickets. Control has the same key.'),
  OTHER_TICKET_SEALING_KEY: kinds.keyText
    .optional()
    .describe('Second key that is accepted while you rotate `TICKET_SEALING_KEY`.'),
  SETTLEMENT_MAC_KEY: kinds.keyText.describe(
    'Authenticates the settlements that the broker sends to control. Control has the same key.',
  ),
  CONFIDENTIAL_SHARE_PORT: kinds.onOff
    .default('off')
    .describe('With `on`, several brokers of one Linux host listen on the same port.'),
  CONFIDENTIAL_ORIGIN: kinds.origin
    .optional()
    .describe('Public address of the broker. Required unless `HOST` is loopback or `CONFIDENTIAL_TLS` is `off`.'),
  CONFIDENTIAL_TLS: z
    .enum(['self', 'files', 'off'], { error: tlsError })
    .default('self')
    .describe(
      'How the broker gets its TLS key. Only a key made inside is bound to the evidence. `off` needs a loopback `HOST`, or a `CONFIDENTIAL_ORIGIN` such as `http://localhost:4001`: the broker then refuses requests to other names.',
    ),
  TLS_CERT_FILE: kinds.file
    .optional()
    .describe('Certificate chain, as PEM. The broker reads it again when it changes.'),
  TLS_KEY_FILE: kinds.file.optional().describe('Key of that certificate, as PEM. For `CONFIDENTIAL_TLS=files` only.'),
  TLS_REQUEST_FILE: kinds.file
    .optional()
    .describe('With `self`, the broker writes its certificate signing request here for your ACME client.'),
  TLS_KEPT_KEY_FILE: kinds.file
    .optional()
    .describe(
      'With `TLS_REQUEST_FILE`, the broker keeps its key here, so that a restart needs no new certificate. Not with real evidence.',
    ),
  PROVENANCE_FILE: kinds.file
    .optional()
    .describe('JSON with `repository`, `commit` and `image_digest`, shown with the evidence.'),
  REQUEST_MEMORY_MIB: kinds
    .count('a number of MiB', 1024 * 1024)
    .optional()
    .describe(
      'Memory that running requests may hold because of their bodies. The default is half of what the process may use.',
    ),
  STREAM_KEEPALIVE_S: kinds
    .seconds(600)
    .default(15)
    .describe('A streamed chat that is silent for this long gets a comment, so that proxies keep it open. 0 is off.'),
  STREAM_HEADERS_AFTER_S: kinds
    .seconds(600)
    .default(0)
    .describe(
      'The headers of a streamed chat leave after this time without output. No other provider can follow then, and a failure is an error in the stream. 0 waits for the first output.',
    ),
  METRICS_PORT: kinds.portOrOff.describe('Port for Prometheus metrics, at `/metrics` on `HOST`.'),
  TRUST_PROXY: kinds.trustProxy.describe(
    'Proxies whose forwarded headers the broker believes. Not together with `PROXY_PROTOCOL`.',
  ),
  PROXY_PROTOCOL: kinds.addresses.describe(
    'TCP balancers that name their clients by the PROXY protocol, version 1 or 2. Needs TLS in the broker.',
  ),
  ...kinds.drain,
  ...kinds.traces,
});

export type TlsConfig =
  | { readonly kind: 'off' }
  | { readonly kind: 'files'; readonly certFile: string; readonly keyFile: string }
  | { readonly kind: 'self'; readonly authority?: AuthorityFiles };

/** The files for our certificate requests and for an authority's certificates. */
export interface AuthorityFiles {
  readonly requestFile: string;
  readonly certFile: string;
  /** Keeps the key over restarts. Undefined: the key stays in memory, and each start makes another. */
  readonly keptKeyFile?: string | undefined;
}

/** The service that releases secrets to brokers that prove themselves. */
export interface KeeperPlace {
  readonly origin: string;
  readonly caFile: string;
}

export interface BrokerSettings {
  readonly env: z.infer<typeof brokerSchema>;
  readonly keeper: KeeperPlace | undefined;
  readonly tls: TlsConfig;
  /** The public address of the broker, without a path. */
  readonly origin: string;
}

/** Reads the settings of a broker and judges them together. A problem is returned as one line. */
export function readBrokerSettings(environment: Environment): Settings<BrokerSettings> {
  const read = readSettings(brokerSchema, environment);
  if (!read.ok) return read;
  const env = read.settings;
  const refused = (message: string) => ({ ok: false, message }) as const;
  const keeper = readKeeperPlace(env);
  if (!keeper.ok) return keeper;
  const tls = readTls(env);
  if (typeof tls === 'string') return refused(tls);
  const scheme = tls.kind === 'off' ? 'http' : 'https';
  const host = env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST;
  const origin = env.CONFIDENTIAL_ORIGIN ?? `${scheme}://${host}:${env.CONFIDENTIAL_PORT}`;
  if (tls.kind !== 'off' && env.CONFIDENTIAL_ORIGIN === undefined && !kinds.isLoopback(env.HOST)) {
    return refused(
      'CONFIDENTIAL_ORIGIN is not set. Set it to the public address of this broker, such as https://api.example.com; the certificate and the evidence name it',
    );
  }
  if (new URL(origin).protocol !== `${scheme}:` && tls.kind !== 'off') {
    return refused(`CONFIDENTIAL_ORIGIN is \`${origin}\`. With TLS it must be one that begins with https://`);
  }
  if (env.PROXY_PROTOCOL !== undefined && env.TRUST_PROXY !== false) {
    return refused(
      'PROXY_PROTOCOL and TRUST_PROXY are both set. Set only one: PROXY_PROTOCOL if this broker terminates TLS',
    );
  }
  if (tls.kind === 'off' && env.PROXY_PROTOCOL !== undefined) {
    return refused(
      'PROXY_PROTOCOL is set while CONFIDENTIAL_TLS is `off`. It needs TLS in the broker; unset it, or use TRUST_PROXY',
    );
  }
  return { ok: true, settings: { env, keeper: keeper.settings, tls, origin } };
}

/** Reads where the keeper is. Undefined: the secrets are in the environment. */
export function readKeeperPlace({
  KEEPER_ORIGIN: origin,
  KEEPER_CA_FILE: caFile,
}: Pick<z.infer<typeof brokerEarlySchema>, 'KEEPER_ORIGIN' | 'KEEPER_CA_FILE'>): Settings<KeeperPlace | undefined> {
  if (origin !== undefined && caFile !== undefined) return { ok: true, settings: { origin, caFile } };
  if (origin === caFile) return { ok: true, settings: undefined };
  const [given, missing] =
    origin === undefined ? ['KEEPER_CA_FILE', 'KEEPER_ORIGIN'] : ['KEEPER_ORIGIN', 'KEEPER_CA_FILE'];
  return {
    ok: false,
    message: `${given} is set without ${missing}. Set ${missing} to the ${origin === undefined ? 'address of the keeper' : 'certificates of the authorities that may sign the keeper’s certificate'}`,
  };
}

/** Combines the TLS settings. Returns a message if they contradict each other. */
function readTls(env: z.infer<typeof brokerSchema>): TlsConfig | string {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile, TLS_REQUEST_FILE: requestFile } = env;
  const { TLS_KEPT_KEY_FILE: keptKeyFile } = env;
  switch (env.CONFIDENTIAL_TLS) {
    case 'off':
      return kinds.isLoopback(env.HOST) || isLoopbackOrigin(env.CONFIDENTIAL_ORIGIN)
        ? { kind: 'off' }
        : `CONFIDENTIAL_TLS is \`off\` while HOST is \`${env.HOST}\`. Without TLS the broker needs a CONFIDENTIAL_ORIGIN on loopback, such as http://localhost:4001`;
    case 'files':
      return certFile === undefined || keyFile === undefined
        ? 'CONFIDENTIAL_TLS is `files`. Set TLS_CERT_FILE and TLS_KEY_FILE with it'
        : { kind: 'files', certFile, keyFile };
    case 'self':
      if (keyFile !== undefined)
        return 'CONFIDENTIAL_TLS is `self`, so the broker generates its own key. Unset TLS_KEY_FILE';
      if (requestFile === undefined && certFile === undefined && keptKeyFile === undefined) return { kind: 'self' };
      return requestFile === undefined || certFile === undefined
        ? 'CONFIDENTIAL_TLS is `self`. To use certificates of an authority, set both TLS_REQUEST_FILE and TLS_CERT_FILE'
        : { kind: 'self', authority: { requestFile, certFile, keptKeyFile } };
  }
}

/** Whether an origin is `http` and leads to the machine that asks. */
function isLoopbackOrigin(origin: string | undefined): boolean {
  const url = origin === undefined ? null : URL.parse(origin);
  return url?.protocol === 'http:' && kinds.isLoopback(url.hostname.replace(/^\[|\]$/g, ''));
}

/** Every setting that a keeper reads. */
export const keeperSchema = z.object({
  HOST: z.string().default('0.0.0.0').describe('Address that the keeper listens on.'),
  KEEPER_PORT: kinds.port(4002).describe('Port that the keeper listens on.'),
  KEEPER_ORIGIN: kinds.httpsOrigin.describe('Address that brokers reach the keeper at. Their evidence must name it.'),
  TLS_CERT_FILE: kinds.file.describe('Certificate chain, as PEM.'),
  TLS_KEY_FILE: kinds.file.describe('Key of that certificate, as PEM.'),
  PINS_FILE: kinds.file.describe('Measurements of the brokers that get the secrets.'),
  SECRETS_FILE: kinds.file.describe('Secrets that those brokers get.'),
  LOG_LEVEL: kinds.logLevel.default('info').describe('Least severe level that is logged.'),
});
