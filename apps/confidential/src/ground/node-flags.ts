/** Flags that open the process to whoever runs it, or change whom it trusts; refused everywhere. */
const refused =
  /^--(inspect|debug-port|tls-|trace-tls|use-openssl-ca|use-system-ca|use-env-proxy|openssl-|secure-heap|insecure-|env-file|heapsnapshot|heap-prof|cpu-prof|report-|abort-on-uncaught-exception|diagnostic-dir)/;
/** What a production start may say besides. */
const accepted =
  /^--(disable-sigusr1|conditions=@sotto\/source|disable-warning=\w+|enable-source-maps|max-old-space-size=\d+|max-semi-space-size=\d+)$/;
const withoutSignal = '--disable-sigusr1';

/** What is wrong with the flags that Node was started with (`process.execArgv`), as one line; undefined: nothing. */
export function problemWithFlags(flags: readonly string[], isProduction: boolean): string | undefined {
  const bad = flags.find((flag) => refused.test(flag) || (isProduction && !accepted.test(flag)));
  if (bad !== undefined) {
    const name = bad.split('=')[0];
    return `Node was started with \`${name}\`, which ${refused.test(bad) ? 'opens the process or changes whom it trusts' : 'a production start does not take'}: start it without`;
  }
  if (isProduction && !flags.includes(withoutSignal)) {
    return `Node was started without \`${withoutSignal}\`: with NODE_ENV=production it takes that flag, since a signal could open the inspector otherwise`;
  }
  return undefined;
}
