import { readFileSync, writeFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import type { Environment } from '@sotto/settings';
import { problemWithCoreLimit } from './core-dumps.ts';
import { refusedName, takeEnvironment } from './environment.ts';
import { problemWithFlags } from './node-flags.ts';

export type Ground =
  | { readonly ok: true; readonly environment: Environment }
  | { readonly ok: false; readonly message: string };

/**
 * Makes sure that nobody outside what is measured decides how this process behaves or looks into it: its environment, its
 * flags, the inspector, core dumps. To be called before any library is loaded; what is wrong comes back as one line.
 */
export function takeGround(): Ground {
  const isProduction = process.env.NODE_ENV === 'production';
  const name = refusedName(process.env);
  if (name !== undefined) {
    return refuse(`${name} is set: it changes how this process runs behind what is attested; start it without`);
  }
  const flags = problemWithFlags(process.execArgv, isProduction);
  if (flags !== undefined) return refuse(flags);
  // Also where the flag is missing: a signal that is listened to opens no inspector.
  process.on('SIGUSR1', () => {});
  if (inspectorUrl() !== undefined) return refuse('the inspector is open: start it without');
  const dumps = forbidDumps(isProduction);
  if (dumps !== undefined) return refuse(dumps);
  return { ok: true, environment: takeEnvironment(process.env) };
}

const refuse = (message: string): Ground => ({ ok: false, message });

/** A dump that is piped to a program knows no limit, so it is told besides to hold none of our memory (core(5)). */
function forbidDumps(isProduction: boolean): string | undefined {
  const isFiltered = attempt(() => writeFileSync('/proc/self/coredump_filter', '0')) !== undefined;
  if (!isProduction) return undefined;
  const limit = problemWithCoreLimit(attempt(() => readFileSync('/proc/self/limits', 'utf8'))?.value);
  if (limit !== undefined) return limit;
  return isFiltered
    ? undefined
    : '/proc/self/coredump_filter cannot be written: with NODE_ENV=production dumps must hold no memory';
}

function attempt<T>(action: () => T): { readonly value: T } | undefined {
  try {
    return { value: action() };
  } catch {
    return undefined;
  }
}
