import { isHere, sottoCommand } from '../../snippets/agent-snippets.ts';

/** The values of a deployment and its reader that commands need. */
export interface Deployment {
  /** Without `/v1`. */
  readonly controlOrigin: string;
  readonly confidentialOrigin: string;
  /** The reader's inference key, or what stands for it. */
  readonly key: string;
  /** A model of each kind that the documentation names, such as `demo/chat`. Others stay as they are. */
  readonly models: Readonly<Record<string, string>>;
  readonly email: string;
}

/** Fills in the addresses, key, models and settings of a deployment. */
export function forDeployment(text: string, deployment: Deployment): string {
  const { models, confidentialOrigin } = deployment;
  const values = valuesOf(deployment);
  const filled = Object.entries(models).reduce((rest, [shown, own]) => rest.replaceAll(shown, own), text);
  // Only a broker on the reader's machine may have simulated evidence.
  const strict = isHere(confidentialOrigin)
    ? inCheckout(filled, sottoCommand(confidentialOrigin))
    : filled.replaceAll(' --allow-simulated', '').replace(/^ *allowSimulated: true,.*\n/gm, '');
  return strict
    .replace(/^```sh\nsource \.sotto\/env\n([\s\S]*?)^```$/gm, (_, code: string) => {
      const used = Object.keys(values).filter((name) => new RegExp(`\\$\\{?${name}\\b`).test(code));
      return `\`\`\`sh\n${exportsOf(used, values)}${code}\`\`\``;
    })
    .replace(/^.*\*\*Set\*\* `.*$/gm, (line) => {
      const [, named = ''] = /\*\*Set\*\* (.*?)\.(?:\s|$)/.exec(line) ?? [];
      const used = Object.keys(values).filter((name) => named.includes(`\`${name}\``));
      return used.length === 0 ? line : `${line}\n\n\`\`\`sh\n${exportsOf(used, values)}\`\`\``;
    });
}

/** A person whose machine runs the service has the folder of Sotto, where the command works. */
const inCheckout = (text: string, command: string): string =>
  text
    .replace(/^Get the package of the command from .*$/m, `Run the command in the folder of Sotto, as \`${command}\`.`)
    .replace(/^(.*\| | *)sotto (?=[a-z])/gm, `$1${command} `);

const valuesOf = ({ controlOrigin, confidentialOrigin, key, email }: Deployment): Readonly<Record<string, string>> => ({
  BASE_URL: `${confidentialOrigin}/v1`,
  CONTROL_URL: `${controlOrigin}/v1`,
  INFERENCE_KEY: key,
  MANAGEMENT_KEY: 'sotto_mgt_YOUR_KEY',
  EMAIL: email,
  PASSWORD: "'your password'",
});

const exportsOf = (names: readonly string[], values: Readonly<Record<string, string>>): string =>
  names.map((name) => `export ${name}=${values[name] ?? ''}\n`).join('');
