/** What is wrong with the limit on core dumps, by the text of /proc/self/limits, as one line; undefined: nothing. */
export function problemWithCoreLimit(limits: string | undefined): string | undefined {
  const soft = limits === undefined ? undefined : /^Max core file size\s+(\S+)\s/m.exec(limits)?.[1];
  if (soft === '0') return undefined;
  return `the limit on core dumps ${soft === undefined ? 'cannot be read' : `is ${soft}`}: with NODE_ENV=production it takes 0, since a dump holds what requests said; set it with \`ulimit -c 0\`, LimitCORE=0 (systemd) or \`ulimits: {core: 0}\` (compose)`;
}
