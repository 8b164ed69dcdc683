import { builtInCatalog } from '../catalog/built-in-catalog.ts';
import { readConfig } from '../config.ts';
import { examineCatalogFile } from '../doctor/catalog-file.ts';
import { examineOrigin } from '../doctor/origins.ts';
import { examinePostgres } from '../doctor/postgres.ts';
import { examineRedis, examineState } from '../doctor/redis.ts';
import { examineSettings } from '../doctor/settings.ts';
import { CliError, type CliProcess } from './cli-process.ts';
import { today } from './today.ts';

const marks = { ok: 'ok     ', warning: 'warning', wrong: 'WRONG  ' } as const;

/** Looks at everything that control depends on, changes nothing, and says what to do about what it finds. */
export async function doctor(context: CliProcess): Promise<number> {
  const read = readConfig(context.environment);
  if (!read.ok) throw new CliError(read.message);
  const config = read.settings;
  const [postgres, redis, state, ...origins] = await Promise.all([
    examinePostgres(config.databaseUrl, Date.now),
    examineRedis(config, Date.now),
    examineState(config.redisUrl),
    examineOrigin('control', 'CONTROL_ORIGIN', config.origin),
    examineOrigin('broker', 'CONFIDENTIAL_ORIGIN', config.confidentialOrigin),
  ]);
  const catalog = await examineCatalogFile(config.catalogFile ?? builtInCatalog, state.registry, today());
  const findings = [...examineSettings(config), ...postgres, ...redis, ...state.findings, catalog, ...origins];
  for (const { verdict, subject, found, advice } of findings) {
    context.out(`${marks[verdict]} ${subject}: ${found}`);
    if (advice !== undefined) context.out(`        ${advice}`);
  }
  const wrong = findings.filter(({ verdict }) => verdict === 'wrong').length;
  context.out(wrong === 0 ? 'nothing is wrong' : `${wrong} ${wrong === 1 ? 'thing is' : 'things are'} wrong`);
  return wrong === 0 ? 0 : 1;
}
