import * as z from 'zod';
import { file, postgresUrl, redisUrl } from '../kinds.ts';
import { broker, control, controlAndStart, rowOf, start } from '../row.ts';

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', 'localhost', '[::1]']);

/** Where to look for model servers: `auto`, `off`, or addresses of this machine. */
const localModels = z.string().transform((text, context): 'auto' | 'off' | readonly string[] => {
  if (text === 'auto' || text === 'off') return text;
  const urls = text.split(',').map((each) => each.trim());
  const isLocal = (url: URL | null): boolean =>
    url !== null && /^https?:$/.test(url.protocol) && loopback.has(url.hostname);
  if (urls.every((url) => isLocal(URL.parse(url)))) return urls;
  const message =
    'takes `auto`, `off` or addresses of this machine such as http://127.0.0.1:8001, with commas between them';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

/** The databases, and the files of models and providers. */
export const storeRows = [
  start('SOTTO_DATA_DIR', 'data.dir', {
    kind: file,
    describe:
      'Directory for the database, the generated secrets and the demo account. The default is `.sotto` in the project.',
  }),
  control('DATABASE_URL', 'data.database_url', {
    kind: postgresUrl,
    required: true,
    describe:
      'PostgreSQL 15 or later. A pooler in front of it must keep sessions, because control prepares statements and listens.',
    start: {
      required: false,
      describe: 'PostgreSQL 15 or later. The default is a packaged PostgreSQL in the data directory.',
    },
  }),
  control('REDIS_URL', 'data.redis_url', {
    kind: redisUrl,
    required: true,
    describe: 'Redis 7 or Valkey, shared with the broker. List several hosts, or add `?cluster=1`, for a cluster.',
    start: {
      required: false,
      describe:
        'Redis 7 or Valkey. If set, control and the broker run as two processes. The default keeps the state in memory.',
    },
  }),
  broker('REDIS_URL', 'data.redis_url', {
    kind: redisUrl,
    required: true,
    describe: 'Redis 7 or Valkey, shared with control. List several hosts, or add `?cluster=1`, for a cluster.',
  }),
  controlAndStart('CATALOG_FILE', 'models_file', {
    kind: file,
    describe: 'Catalog of models, as YAML. Control reads it again on SIGHUP. The default is the built-in catalog.',
  }),
  rowOf('broker', 'start')('PROVIDERS_FILE', 'providers_file', {
    kind: file,
    early: true,
    describe:
      'Providers and their routes, as YAML. A broker without attestation reads it again on SIGHUP. The default is built in.',
  }),
  start('LOCAL_MODELS', 'local_models', {
    kind: localModels,
    default: 'auto',
    describe:
      'Where to look for model servers of this machine (Ollama, LM Studio, llama.cpp, vLLM): `auto` tries their usual ports, `off` none. Or addresses such as `http://127.0.0.1:8001`, with commas between them.',
  }),
];
