type Variables = Readonly<Record<string, string | undefined>>;

/** The variables by which programs find a proxy. Programs differ in the spelling that they read first. */
const proxyNames = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'http_proxy', 'https_proxy', 'all_proxy'];
/** The variables that list the hosts which programs reach without the proxy. */
const exemptNames = ['NO_PROXY', 'no_proxy'] as const;

/**
 * Returns the variables of a program that must reach `host` without a proxy. A proxy would see the prompt and the token in
 * clear, because this machine is reached by plain http. Every other host is reached as before.
 *
 * With `*` alone, the user wants no proxy at all. Some programs then still use it for addresses such as 127.0.0.1, and others
 * read a `*` only if it stands alone. So the proxies are left out.
 */
export function besideProxies(variables: Readonly<Record<string, string>>, host: string): Record<string, string> {
  const lists = exemptNames.flatMap((name) => variables[name] || []);
  const wantsNone = lists.length > 0 && lists.every((list) => list.trim() === '*');
  const kept = Object.entries(variables).filter(([name]) => !wantsNone || !proxyNames.includes(name));
  const exempt = exemptNames.map((name) => [name, withHost(variables[name] || (lists[0] ?? ''), host)]);
  return Object.fromEntries([...kept, ...exempt]);
}

/** Entries are separated by commas: some programs take a list with spaces for one entry. */
const withHost = (list: string, host: string): string => {
  if (entriesOf(list).includes(host)) return list;
  return list === '' ? host : `${list},${host}`;
};

const entriesOf = (list: string): string[] => list.split(',').map((entry) => entry.trim());

/** A proxy that requests to this machine would go to. */
export interface ProxyInTheWay {
  /** The variable that names the proxy. */
  readonly proxy: string;
  /** The variable that lists the hosts without a proxy, if one lacks this machine. */
  readonly exempt: string | undefined;
}

/** Returns the proxy that a program with these variables may use to reach `host`, if there is one. */
export function proxyInTheWay(variables: Variables, host: string): ProxyInTheWay | undefined {
  const proxy = proxyNames.find((name) => variables[name]);
  const set = exemptNames.filter((name) => variables[name]);
  const exempt = set.find((name) => !entriesOf(variables[name] ?? '').includes(host));
  if (proxy === undefined || (set.length > 0 && exempt === undefined)) return undefined;
  return { proxy, exempt };
}
