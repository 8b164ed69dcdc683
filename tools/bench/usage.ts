import { migrateDatabase } from '@sotto/control';
import { startTestPostgres } from '../../test/kit/postgres.ts';
import { median, percentile } from './cpu.ts';
import { bigAccount, days, generateUsage, keys, rareKey, rareModel, workspaces } from './usage/generate.ts';
import { serveUsage, type UsageServer } from './usage/serve.ts';

/**
 * How fast usage is told, over HTTP, to an account with nine tenths of ten million rows. `--quick`: a tenth of them.
 * The database is in a temporary folder, and gone afterwards.
 */
const quick = process.argv.includes('--quick');
const rows = quick ? 1_000_000 : 10_000_000;
const repeats = quick ? 5 : 15;

const given = process.env.BENCH_USAGE_URL;
const postgres = given ? undefined : await startTestPostgres();
const databaseUrl = given ?? (await postgres?.createDatabase()) ?? '';
if (!given) await migrateDatabase(databaseUrl);
const server = await serveUsage(databaseUrl, bigAccount);
if (!given) await generateUsage(server.pool, rows, (what) => process.stderr.write(`${what}\n`));

const common = 'creator-0/model-0';
const last = 'creator-6/model-48';
const dayMs = 86_400_000;
const daysAgo = (count: number): string => new Date(Date.now() - count * dayMs).toISOString().slice(0, 10);
const year = `from=${daysAgo(364)}`;
const [main, side] = workspaces;

const filters: readonly (readonly [string, string])[] = [
  ['no filter', ''],
  ['a common model', `model=${common}`],
  ['a model of 90 rows', `model=${rareModel}`],
  ['a common key', `key_id=${keys[0]}`],
  ['a key of 90 rows', `key_id=${rareKey}`],
  ['a workspace', `workspace_id=${main}`],
  ['key and model', `key_id=${keys[19]}&model=${last}`],
  ['key and model that never met', `key_id=${keys[0]}&model=${rareModel}`],
  ['workspace and model', `workspace_id=${side}&model=${common}`],
  ['workspace and model that never met', `workspace_id=${side}&model=${rareModel}`],
  ['workspace and a key of another', `workspace_id=${side}&key_id=${keys[0]}`],
  ['workspace, key and model', `workspace_id=${main}&key_id=${keys[0]}&model=${common}`],
  ['a month', `from=${daysAgo(230)}&to=${daysAgo(200)}`],
];

console.log(`${rows} rows, ${days} days; ${repeats} times each over HTTP, in ms.\n`);
await report(server, 'year by day', `/usage/daily?${year}`);
await report(server, 'year by month', `/usage/daily?${year}&group_by=month`);
await report(server, 'year by model', `/usage/daily?${year}&group_by=model`);
await report(server, 'year by day and provider', `/usage/daily?${year}&group_by=day,provider`);
await report(server, 'year by key', `/usage/daily?${year}&group_by=key_id`);
await report(server, 'year by model, of a workspace', `/usage/daily?${year}&group_by=model&workspace_id=${main}`);
await report(server, 'year by model, of a key', `/usage/daily?${year}&group_by=model&key_id=${keys[0]}`);
await report(server, 'year by key, of a model', `/usage/daily?${year}&group_by=key_id&model=${common}`);
await report(server, 'year by key and model', `/usage/daily?${year}&group_by=key_id,model`);
console.log('');
for (const [name, filter] of filters) {
  await report(server, `first page, ${name}`, `/usage?${filter}`);
  const cursor = await deepCursor(filter);
  if (cursor !== undefined) await report(server, '  200 days deep', `/usage?${filter}&cursor=${cursor}`);
}
console.log('');
await exported('year by day and model, CSV', `/usage/daily?${year}&group_by=day,model&format=csv`);
await exported('year by every column, CSV', `/usage/daily?${year}&group_by=day,key_id,model,provider&format=csv`);
await exported('usage of ten days, CSV', `/usage?from=${daysAgo(10)}&format=csv`);

await server.stop();
await postgres?.stop();
process.exit(0);

/** A cursor in the middle of the rows that match, had as a client would: by asking for what came before a day. */
async function deepCursor(filter: string): Promise<string | undefined> {
  const to = filter.includes('to=') ? '' : `&to=${daysAgo(200)}`;
  const answer = await server.get(`/usage?limit=1&${filter}${to}`);
  return (JSON.parse(answer) as { next_cursor: string | null }).next_cursor ?? undefined;
}

async function report({ get }: UsageServer, name: string, path: string): Promise<void> {
  const timings: number[] = [];
  for (let time = 0; time < repeats; time += 1) {
    const startedAt = performance.now();
    await get(path);
    timings.push(performance.now() - startedAt);
  }
  const [p50, max] = [median(timings), percentile(timings, 100)].map((ms) => ms.toFixed(1).padStart(8));
  console.log(`${name.padEnd(48)} p50 ${p50}  max ${max}`);
}

async function exported(name: string, path: string): Promise<void> {
  const startedAt = performance.now();
  const { lines, bytes, mostHeapMiB } = await server.download(path);
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(
    `${name.padEnd(48)} ${lines} lines, ${(bytes / 1e6).toFixed(0)} MB in ${seconds.toFixed(1)} s: ` +
      `${(lines / seconds).toFixed(0)} lines/s; heap at most ${mostHeapMiB.toFixed(0)} MiB`,
  );
}
