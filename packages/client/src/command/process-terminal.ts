import type { Terminal } from './terminal.ts';

/** The process as commands see it. Only this module and `main.ts` touch it. */
export const processTerminal: Terminal = {
  environment: process.env,
  userId: process.getuid?.(),
  input: process.stdin,
  out: (text) => void process.stdout.write(text),
  note: (text) => void process.stderr.write(text),
  onInterrupt(listener) {
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
    let hasClosed = false;
    const onSignal = (signal: (typeof signals)[number]): void => {
      // A terminal that closes sends this twice. The second one must not cut what the first one left time for.
      if (signal === 'SIGHUP' && hasClosed) return;
      hasClosed ||= signal === 'SIGHUP';
      listener(signal);
    };
    for (const signal of signals) process.on(signal, onSignal);
    return () => {
      for (const signal of signals) process.off(signal, onSignal);
      // The command may still have work to end, such as closing an anonymous wallet.
      if (hasClosed) process.on('SIGHUP', () => undefined);
    };
  },
};
