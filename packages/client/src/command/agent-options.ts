import { guardHelp, guardOptions } from './guard-options.ts';
import { modelHelp, modelOptions } from './local-proxy.ts';
import { anonymousHelp, anonymousOptions } from './purse-command.ts';
import { costHelp, costOptions } from './run-costs.ts';
import { serviceHelp, serviceOptions } from './settings.ts';
import { warmHelp, warmOptions } from './warm-caches.ts';

/** The options of the commands that serve agents, as `parseArgs` takes them. */
export const agentOptions = {
  ...serviceOptions,
  ...modelOptions,
  ...anonymousOptions,
  ...guardOptions,
  ...costOptions,
  ...warmOptions,
} as const;

/** @param usuallyWarm - The default of `--warm-caches`, in words. */
export const agentHelp = (usuallyWarm: string): string =>
  [serviceHelp, modelHelp, warmHelp(usuallyWarm), costHelp, anonymousHelp, guardHelp].join('\n');
