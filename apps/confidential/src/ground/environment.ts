import type { Environment } from '@sotto/settings';

/**
 * Names that change how Node, its TLS, the C library or a library of ours behaves, before or behind what is measured: where
 * content could go, what is trusted, what is written down.
 */
const refusals: readonly RegExp[] = [
  /^NODE_(?!ENV$|VERSION$)/,
  /^(LD|DYLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|NLSPATH|RES_OPTIONS|RESOLV_[A-Z_]+)$/,
  /^MALLOC_/,
  // TRUST_PROXY is a setting of ours.
  /^(?!TRUST_PROXY$)[A-Z]+_PROXY$/i,
  /^SSL_CERT_(FILE|DIR)$/,
  /^SSLKEYLOGFILE$/,
  /^OPENSSL_/,
  /^UV_/,
  /^DEBUG$/,
  /^(DSTACK|TAPPD)_SIMULATOR_ENDPOINT$/,
];

/** What stays readable for everything in the process, and says nothing. */
const harmless: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']);

/** The first name that must not be there; undefined where there is none. An empty value changes nothing. */
export function refusedName(environment: Environment): string | undefined {
  return Object.keys(environment).find(
    (name) => environment[name] !== '' && refusals.some((pattern) => pattern.test(name)),
  );
}

/**
 * Takes the environment away: what comes back is a frozen copy, for our own settings and the providers' keys, and
 * `environment` itself keeps what is harmless. Whatever else somebody put there (Kubernetes does) reaches no library.
 */
export function takeEnvironment(environment: Record<string, string | undefined>): Environment {
  const taken = Object.freeze({ ...environment });
  for (const name of Object.keys(environment)) if (!harmless.has(name)) delete environment[name];
  return taken;
}
