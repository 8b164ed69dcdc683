import { type Environment, isSecretName } from './read-settings.ts';
import { onlyVariables, settingPaths } from './setting-paths.ts';

const settings = Object.values(settingPaths).flatMap((paths) => Object.keys(paths));
const known: ReadonlySet<string> = new Set([
  ...settings,
  ...settings.filter(isSecretName).map((name) => `${name}_FILE`),
  ...onlyVariables,
  'CONFIG_FILE',
]);
const long = [...known].filter((name) => name.length >= 8);

/** Prefixes of our names, without those that Kubernetes gives to the variables of a service. */
const ours =
  /^(?!.*_(SERVICE|PORT)(_|$))(CONTROL|CONFIDENTIAL|BILLING|RATE_LIMIT|OIDC|BTCPAY|KEEPER|SETTLEMENT|TICKET|OTHER)_/;

/** Returns a warning for each variable that looks like a misspelled setting. */
export const misspelled = (environment: Environment): string[] =>
  Object.keys(environment).flatMap((name) => {
    if (known.has(name) || name.length < 7) return [];
    const near = nearest(name, long);
    if (near === undefined) return ours.test(name) ? [`${name} is set, but no setting has this name`] : [];
    return [`${name} is set, but no setting has this name. The nearest is ${near}`];
  });

/** Returns the name that `written` is probably a misspelling of. Undefined if it is close to none. */
export function nearest(written: string, names: Iterable<string>): string | undefined {
  const most = Math.min(2, Math.floor(written.length / 2));
  let best: string | undefined;
  let least = most + 1;
  for (const name of names) {
    const distance = editsBetween(written, name);
    if (distance < least) [best, least] = [name, distance];
  }
  return best;
}

/** The least number of characters to insert, delete or replace (Levenshtein). */
function editsBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [at, character] of [...from].entries()) {
    const next = [at + 1];
    for (const [index, other] of [...to].entries()) {
      const [left = 0, above = 0, diagonal = 0] = [next[index], row[index + 1], row[index]];
      next.push(Math.min(left + 1, above + 1, diagonal + (character === other ? 0 : 1)));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
