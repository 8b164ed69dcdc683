// The images' health check: asks a plane on loopback whether it lives. The broker's certificate is made inside and for its
// public name, which says nothing about this connection: whether there is an answer is all that is asked.
import http from 'node:http';
import https from 'node:https';

const { CONTROL_PORT, CONFIDENTIAL_PORT, CONFIDENTIAL_TLS = 'self' } = process.env;
const isBroker = process.argv[2] === 'broker';
const port = Number((isBroker ? CONFIDENTIAL_PORT : CONTROL_PORT) ?? (isBroker ? 4001 : 4000));
const { get } = isBroker && CONFIDENTIAL_TLS !== 'off' ? https : http;
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
