// Writes the app-compose.json that dstack measures and runs. The same arguments give the same bytes:
//
//   node deploy/confidential-vm/app-compose.mjs IMAGE@sha256:DIGEST ORIGIN [PROVIDER_KEY_NAME...] > app-compose.json
//
// Each PROVIDER_KEY_NAME is a variable with a provider's key, as named in the image's registry. The script prints the digest
// that clients pin (`compose_hash`) to stderr. It is plain JavaScript without dependencies.

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const [image = '', origin = '', ...providerKeys] = process.argv.slice(2);
if (!/^[a-z0-9./:_-]+@sha256:[0-9a-f]{64}$/.test(image))
  fail(`the image is \`${image}\`; name it by digest, as NAME@sha256:…`);
if (!URL.canParse(origin) || new URL(origin).origin !== origin || !origin.startsWith('https://')) {
  fail(`the origin is \`${origin}\`; use an https origin without a path, such as https://api.example.com`);
}
const wrong = providerKeys.find((name) => !/^[A-Z][A-Z0-9_]*$/.test(name));
if (wrong !== undefined) fail(`\`${wrong}\` is not the name of a variable, such as OPENAI_API_KEY`);

// OTHER_TICKET_SEALING_KEY is set only during a rotation. It is always listed, so that a rotation does not change the measurement.
const secrets = ['REDIS_URL', 'TICKET_SEALING_KEY', 'OTHER_TICKET_SEALING_KEY', 'SETTLEMENT_MAC_KEY'];
const names = [...new Set(providerKeys)].filter((name) => !secrets.includes(name)).sort();
const template = readFileSync(new URL('broker.compose.yaml', import.meta.url), 'utf8').replace(/^\s*#.*\n/gm, '');
const compose = template
  .replace('@IMAGE@', image)
  .replace('@ORIGIN@', origin)
  .replaceAll('$${', '${')
  .replace(/( +)(SETTLEMENT_MAC_KEY: .*\n)/, (_, indent, line) =>
    [`${indent}${line}`, ...names.map((name) => `${indent}${name}: \${${name}}\n`)].join(''),
  );

const app = {
  manifest_version: 2,
  name: 'sotto-broker',
  runner: 'docker-compose',
  docker_compose_file: compose,
  // dstack derives keys for the measured application and passes TLS to it without decrypting it.
  kms_enabled: true,
  gateway_enabled: true,
  local_key_provider_enabled: false,
  allowed_envs: [...secrets, ...names],
  no_instance_id: false,
  public_logs: false,
  public_sysinfo: false,
  public_tcbinfo: true,
  secure_time: true,
};
const text = JSON.stringify(Object.fromEntries(Object.entries(app).sort(([a], [b]) => (a < b ? -1 : 1))));
process.stdout.write(text);
process.stderr.write(`compose_hash ${createHash('sha256').update(text).digest('hex')}\n`);

function fail(message) {
  process.stderr.write(`app-compose: ${message}\n`);
  process.exit(2);
}
