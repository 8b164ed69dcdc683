// The images' health check: asks a plane on loopback for /healthz. It accepts any certificate, because the broker generates
// its own for its public name. Only the answer matters.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { readYaml } from '../../packages/yaml/src/yaml.ts';

const isBroker = process.argv[2] === 'broker';
const [portName, usualPort] = isBroker ? ['CONFIDENTIAL_PORT', 4001] : ['CONTROL_PORT', 4000];
const { CONFIG_FILE, CONFIDENTIAL_TLS } = process.env;
// Without the settings' schemas, which take longer to load than the question takes. The plane has judged the file.
const file = CONFIG_FILE ? readYaml(readFileSync(CONFIG_FILE, 'utf8')) : undefined;
const own = (file?.ok && file.value.value?.[isBroker ? 'broker' : 'control']) || {};
const { get } = isBroker && !['off', false].includes(CONFIDENTIAL_TLS || own.tls?.mode) ? https : http;
const port = Number(process.env[portName] || (own.port ?? usualPort));
const request = get(
  { host: '127.0.0.1', port, path: '/healthz', rejectUnauthorized: false, timeout: 4000 },
  (answer) => {
    process.exitCode = answer.statusCode === 200 ? 0 : 1;
    answer.resume();
  },
);
request.on('timeout', () => request.destroy());
request.on('error', () => {
  process.exitCode = 1;
});
