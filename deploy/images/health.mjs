// The images' health check: asks a plane on loopback for /healthz. It accepts any certificate, because the broker generates
// its own for its public name. Only the answer matters.
import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { readSettingsFile, settingsOf } from '../../packages/server/src/settings/settings-file.ts';

const isBroker = process.argv[2] === 'broker';
const [portName, usualPort] = isBroker ? ['CONFIDENTIAL_PORT', 4001] : ['CONTROL_PORT', 4000];
const { CONFIG_FILE } = process.env;
const file = CONFIG_FILE ? readSettingsFile(readFileSync(CONFIG_FILE, 'utf8')) : undefined;
const inFile = file?.ok ? settingsOf(file.value, isBroker ? 'broker' : 'control') : new Map();
const settingOf = (name) => process.env[name] || inFile.get(name)?.value;
const { get } = isBroker && settingOf('CONFIDENTIAL_TLS') !== 'off' ? https : http;
const port = Number(settingOf(portName) ?? usualPort);
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
