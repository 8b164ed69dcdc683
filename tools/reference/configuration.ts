import { describeSettings, type Plane, type SettingDescription, settingPaths, settingsSchemas } from '@sotto/server';
import { code, generated, table } from './markdown.ts';

const intro = `# Configuration

Find every setting of Sotto here: which process reads it, what it takes, its default and its meaning.

Settings come from one file, \`sotto.yaml\`, and from environment variables, which override it. Each table has the place of a setting in the file, such as \`control.port\`, and its variable. A process reads them once, at start. If a value is wrong, it prints what it takes and exits. A variable with an empty value counts as not set.

**One file.** Set \`CONFIG_FILE\` to its path for every process. \`npm start\` also takes \`sotto.yaml\` in the project. Each process reads only its part. \`models\` and \`providers\` hold the list or the whole content of a catalog and a registry, and \`billing.plan\` that of a billing file. Paths start at the folder of the file. A secret is a reference: \`env:NAME\` or \`file:/path\`. In a systemd unit, a relative \`file:\` is a credential of the unit. Where evidence is real, the registry is part of the image, and the broker starts with no other.

\`\`\`yaml
# yaml-language-server: $schema=deploy/sotto.schema.json
control:
  origin: https://control.example.com
  trust_proxy: 1
broker:
  origin: https://api.example.com
data:
  database_url: file:/run/secrets/database_url
  redis_url: file:/run/secrets/redis_url
features:
  image_generation: on
models_file: catalog.yaml
\`\`\`

\`sotto-control config check\` judges the values of all processes, \`config show\` prints each value with its source, and \`config split --out DIR\` writes what goes into the broker's image: its registry and its part of this file. The deployments start from [Compose's](../../deploy/compose/sotto.yaml), [systemd's](../../deploy/systemd/sotto.yaml) or [the chart's](../../deploy/kubernetes/sotto/values.yaml) file.

**Misspelled variables.** At start, a process warns about variables that look like a setting of Sotto but are none.

**Secrets in files.** If a name ends in \`_KEY\`, \`_SECRET\`, \`_URL\`, \`_TOKEN\` or \`_PASSWORD\`, you can set \`NAME_FILE\` to the path of a file with the value instead. This also holds for provider keys. It does not hold for names that begin with \`TLS_\`.

**Provider keys.** The registry of providers names the variable of each provider's key (\`api_key_env\`, \`api_keys\`). Set these variables for the broker. See [providers and catalog](../operate/providers-and-catalog.md).

**Rotation.** Settings that begin with \`OTHER_\` hold the second of two secrets during a rotation. See [rotating secrets](../operate/rotating-secrets.md).

**Refused variables.** The broker does not start if its environment can change what its attestation covers. It refuses \`NODE_*\` (except \`NODE_ENV\` and \`NODE_VERSION\`), \`LD_*\`, \`DYLD_*\`, \`MALLOC_*\`, \`OPENSSL_*\`, \`UV_*\`, \`*_PROXY\` (except \`TRUST_PROXY\`), \`SSL_CERT_FILE\`, \`SSL_CERT_DIR\`, \`SSLKEYLOGFILE\`, \`DEBUG\`, settings of the C library's resolver and locale, and simulators of dstack. It ignores every other name that it does not know.`;

/** Builds the page of all settings, by process. */
export const configurationPage = (): string =>
  [
    generated,
    intro,
    section(
      'Control',
      'Accounts, keys, billing and the dashboard. `sotto-control` commands read the same settings.',
      'control',
    ),
    section('Broker', 'The confidential plane, which sees content and no accounts.', 'broker'),
    section('Keeper', 'Optional: releases secrets to brokers that prove what they run.', 'keeper'),
    section('`npm start`', 'Runs control and the broker on one machine, for trying Sotto out.', 'start'),
  ]
    .join('\n\n')
    .concat('\n');

function section(title: string, about: string, plane: Plane): string {
  const settings: readonly SettingDescription[] = describeSettings(settingsSchemas[plane]);
  const required = settings.filter(({ isRequired }) => isRequired);
  const optional = settings.filter(({ isRequired }) => !isRequired);
  return [
    `## ${title}`,
    about,
    ...(required.length === 0
      ? []
      : [
          'Required:',
          table(
            ['Variable', 'In sotto.yaml', 'Takes', 'Meaning'],
            required.map(({ name, takes = 'text', meaning = '' }) => [
              code(name),
              placeOf(plane, name),
              takes,
              meaning,
            ]),
          ),
        ]),
    'Optional:',
    table(
      ['Variable', 'In sotto.yaml', 'Takes', 'Default', 'Meaning'],
      optional.map(({ name, takes = 'text', defaultValue, meaning = '' }) => [
        code(name),
        placeOf(plane, name),
        takes,
        defaultValue === undefined ? '–' : code(defaultValue),
        meaning,
      ]),
    ),
  ].join('\n\n');
}

const placeOf = (plane: Plane, name: string): string => {
  const path = settingPaths[plane][name];
  return path === undefined ? '–' : code(path);
};
