import { readFileSync, writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import type { Environment } from '@sotto/server';

export type HardenedProcess =
  | { readonly ok: true; readonly environment: Environment }
  | { readonly ok: false; readonly message: string };

/**
 * Makes sure that nothing outside the measured code decides how this process behaves or looks into it. It checks the
 * environment, the flags, the inspector and core dumps. Call it before any library is loaded. A problem is returned as
 * one line.
 */
export function hardenProcess(): HardenedProcess {
  const isProduction = process.env.NODE_ENV === 'production';
  const name = refusedName(process.env);
  if (name !== undefined) {
    return refuse(`${name} is set. It changes how this process runs, and the attestation does not cover it. Unset it`);
  }
  const flags = problemWithFlags(process.execArgv, isProduction);
  if (flags !== undefined) return refuse(flags);
  // Needed if the flag is missing, too: a signal with a listener does not open the inspector.
  process.on('SIGUSR1', () => {});
  if (inspectorUrl() !== undefined) return refuse('the inspector is open. Start without it');
  const dumps = forbidDumps(isProduction);
  if (dumps !== undefined) return refuse(dumps);
  return { ok: true, environment: takeEnvironment(process.env) };
}

const refuse = (message: string): HardenedProcess => ({ ok: false, message });

/**
 * Forbids dumps of this process. A dump that is piped to a program ignores the limit. So the filter also keeps our
 * memory out of every dump (core(5)).
 */
function forbidDumps(isProduction: boolean): string | undefined {
  const isFiltered = attempt(() => writeFileSync('/proc/self/coredump_filter', '0')) !== undefined;
  if (!isProduction) return undefined;
  const limit = problemWithCoreLimit(attempt(() => readFileSync('/proc/self/limits', 'utf8'))?.value);
  if (limit !== undefined) return limit;
  return isFiltered
    ? undefined
    : 'cannot write /proc/self/coredump_filter. With NODE_ENV=production, core dumps must not contain memory';
}

function attempt<T>(action: () => T): { readonly value: T } | undefined {
  try {
    return { value: action() };
  } catch {
    return undefined;
  }
}

/**
 * Checks the limit on core dumps in the text of /proc/self/limits. Returns the problem as one line; undefined: none.
 */
export function problemWithCoreLimit(limits: string | undefined): string | undefined {
  const soft = limits === undefined ? undefined : /^Max core file size\s+(\S+)\s/m.exec(limits)?.[1];
  if (soft === '0') return undefined;
  return `the limit on core dumps ${soft === undefined ? 'cannot be read' : `is ${soft}`}. With NODE_ENV=production it must be 0, because a dump contains request content. Set it with \`ulimit -c 0\`, LimitCORE=0 (systemd) or \`ulimits: {core: 0}\` (compose)`;
}

/** Flags that open the process to its operator or change which servers it trusts. They are refused everywhere. */
const refused =
  /^--(inspect|debug-port|tls-|trace-tls|use-openssl-ca|use-system-ca|use-env-proxy|openssl-|secure-heap|insecure-|env-file|heapsnapshot|heap-prof|cpu-prof|report-|abort-on-uncaught-exception|diagnostic-dir)/;
/** Node also takes `_` for each `-` within a flag. */
const isRefused = (flag: string): boolean => refused.test(flag.replaceAll('_', '-'));
/** The only flags that a production start accepts. */
const accepted =
  /^--(disable-sigusr1|conditions=@sotto\/source|disable-warning=\w+|enable-source-maps|max-old-space-size=\d+|max-semi-space-size=\d+)$/;
const withoutSignal = '--disable-sigusr1';

/**
 * Checks the flags that Node was started with (`process.execArgv`). Returns the problem as one line; undefined: none.
 */
export function problemWithFlags(flags: readonly string[], isProduction: boolean): string | undefined {
  const bad = flags.find((flag) => isRefused(flag) || (isProduction && !accepted.test(flag)));
  if (bad !== undefined) {
    const name = bad.split('=')[0];
    return `Node was started with \`${name}\`, which ${isRefused(bad) ? 'opens the process to inspection or changes which servers it trusts' : 'is not allowed in production'}. Start without it`;
  }
  if (isProduction && !flags.includes(withoutSignal)) {
    return `Node was started without \`${withoutSignal}\`. With NODE_ENV=production the flag is required, because a signal could open the inspector`;
  }
  return undefined;
}

/**
 * Variables that change how Node, its TLS, the C library or a library of ours behaves, outside of what is measured.
 * They decide where content could go, which servers are trusted, and what is written to disk.
 */
const refusals: readonly RegExp[] = [
  /^NODE_(?!ENV$|VERSION$)/,
  /^(LD|DYLD)_/,
  /^(GCONV_PATH|GLIBC_TUNABLES|HOSTALIASES|LOCALDOMAIN|LOCPATH|NLSPATH|RES_OPTIONS|RESOLV_[A-Z_]+)$/,
  /^MALLOC_/,
  // TRUST_PROXY is one of the broker's settings.
  /^(?!TRUST_PROXY$)[A-Z]+_PROXY$/i,
  /^SSL_CERT_(FILE|DIR)$/,
  /^SSLKEYLOGFILE$/,
  /^OPENSSL_/,
  /^UV_/,
  /^DEBUG$/,
  /^(DSTACK|TAPPD)_SIMULATOR_ENDPOINT$/,
];

/** Variables that stay readable for all code in the process, because they reveal nothing. */
const harmless: ReadonlySet<string> = new Set(['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR']);

/** Returns the first name that must not be set, if any. An empty value changes nothing. */
export function refusedName(environment: Environment): string | undefined {
  return Object.keys(environment).find(
    (name) => environment[name] !== '' && refusals.some((pattern) => pattern.test(name)),
  );
}

/**
 * Takes the environment away from libraries. Returns a frozen copy for our own settings and the providers' keys, and
 * deletes all but the harmless names. So a variable that the platform adds, as Kubernetes does, reaches no library.
 */
export function takeEnvironment(environment: Record<string, string | undefined>): Environment {
  const taken = Object.freeze({ ...environment });
  for (const name of Object.keys(environment)) if (!harmless.has(name)) delete environment[name];
  return taken;
}
