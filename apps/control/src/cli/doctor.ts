import { loadSettings, settingsSchemas } from '@sotto/server';
import { builtInCatalog } from '../catalog/built-in-files.ts';
import { type ControlConfig, readConfig, readConfigWithoutRedis } from '../config.ts';
import { counted } from '../counted.ts';
import { type Finding, ok, warning } from '../doctor/check.ts';
import { examineOrigin } from '../doctor/origins.ts';
import { examinePostgres } from '../doctor/postgres.ts';
import { examineKeysAtProviders } from '../doctor/provider-keys.ts';
import { examineRedis, examineState } from '../doctor/redis.ts';
import { examineCatalogFile, examineProviderKeys } from '../doctor/registry.ts';
import { type CliProcess, required, today } from './cli-process.ts';
import { loopbackHosts } from './read-source.ts';

const marks = { ok: 'ok     ', warning: 'warning', wrong: 'WRONG  ' } as const;

/** Checks everything that control depends on, without changes, and advises how to fix each finding. */
export async function doctor(context: CliProcess): Promise<number> {
  const { environment } = context;
  // `npm start` without Redis keeps the state in its own memory, where no other process sees it.
  const isInMemory = environment.DATABASE_URL !== undefined && environment.REDIS_URL === '';
  const shared = isInMemory ? undefined : required(readConfig(environment));
  const config = shared ?? required(readConfigWithoutRedis(environment));
  const [postgres, redis, state, ...origins] = await Promise.all([
    examinePostgres(config.DATABASE_URL, Date.now),
    shared === undefined
      ? [ok('shared state', 'in the memory of `npm start`, not examined')]
      : examineRedis(shared, Date.now),
    shared === undefined ? { findings: [], registry: undefined } : examineState(shared.REDIS_URL, Date.now),
    examineOrigin('control', config.origin, config.CONTROL_ADDRESS),
    examineOrigin('broker', config.confidentialOrigin, config.CONFIDENTIAL_ADDRESS),
  ]);
  const catalog = await examineCatalogFile(config.CATALOG_FILE ?? builtInCatalog, state.registry, today());
  const registryFile = registryFileOf(context);
  const keys = [
    ...(await examineProviderKeys(state.registry, registryFile)),
    ...(await examineKeysAtProviders(registryFile, environment)),
  ];
  const findings = [...examineSettings(config), ...postgres, ...redis, ...state.findings, ...keys, catalog, ...origins];
  for (const { verdict, subject, found, advice } of findings) {
    context.out(`${marks[verdict]} ${subject}: ${found}`);
    if (advice !== undefined) context.out(`        ${advice}`);
  }
  const wrong = findings.filter(({ verdict }) => verdict === 'wrong').length;
  context.out(wrong === 0 ? 'no problems' : counted(wrong, 'problem'));
  return wrong === 0 ? 0 : 1;
}

/** The broker's registry, if `sotto.yaml` or a variable here names it. */
function registryFileOf({ environment }: CliProcess): string | undefined {
  const schema = settingsSchemas.broker.pick({ PROVIDERS_FILE: true });
  const loaded = loadSettings({ plane: 'broker', schema, environment });
  return (loaded.ok && loaded.settings.PROVIDERS_FILE) || undefined;
}

/** Warns of settings that work but do not suit a public service. */
function examineSettings(config: ControlConfig): Finding[] {
  const { origin, confidentialOrigin, signIn } = config;
  const isPublic = !loopbackHosts.has(new URL(origin).hostname);
  const warnings: Finding[] = [];
  const warn = (found: string, advice: string): void => void warnings.push(warning('settings', found, advice));
  if (isPublic && config.NODE_ENV !== 'production') {
    warn(
      'NODE_ENV is not production',
      'Set NODE_ENV=production on both planes. They then refuse a Redis that can lose money.',
    );
  }
  if (isPublic && [origin, confidentialOrigin].some((one) => one.startsWith('http:'))) {
    warn('an origin begins with http:', 'Terminate TLS in front of control, and set both origins to https addresses.');
  }
  if (isPublic && config.TRUST_PROXY === false) {
    warn(
      'TRUST_PROXY is off',
      'Set it to the number of proxies in front of control. Otherwise all clients share the proxy’s address and its rate limit.',
    );
  }
  if (isPublic && signIn.smtp === undefined) {
    warn(
      'SMTP_URL is not set',
      'Set SMTP_URL and MAIL_FROM. Without them, addresses are not verified and passwords cannot be reset.',
    );
  }
  if (isPublic && config.METRICS_PORT === undefined) {
    warn('METRICS_PORT is off', 'Set it and scrape it with Prometheus: docs/operate/monitoring-and-runbooks.md.');
  }
  return warnings.length > 0 ? warnings : [ok('settings', 'no problems')];
}
