import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { UsageError } from './terminal.ts';

/** A step of a command, such as `sign` of `sotto release sign`. */
export interface Step<Option extends string> {
  /** The options that it takes. Another would be ignored, and its user would believe that it counts. */
  readonly takes: readonly Option[];
}

/** A command line whose first word is a step. */
interface StepLine<Options extends ParseArgsOptionsConfig, Chosen> {
  readonly step: Chosen;
  readonly values: ReturnType<typeof parseArgs<{ options: Options }>>['values'];
  /** The words after the step. */
  readonly files: readonly string[];
}

/**
 * Reads the line of a command. Throws a `UsageError` for an unknown step, and for an option that it does not take.
 *
 * @param given.otherwise - The step of a line without one. Without this, each line needs a step.
 */
export function readStep<Options extends ParseArgsOptionsConfig, Chosen extends Step<string & keyof Options>>(
  command: string,
  args: readonly string[],
  given: { readonly options: Options; readonly steps: ReadonlyMap<string, Chosen>; readonly otherwise?: string },
): StepLine<Options, Chosen> {
  const { options, steps, otherwise = '' } = given;
  const { values, positionals } = parseArgs({ args: [...args], allowPositionals: true, options });
  const [name = otherwise, ...files] = positionals;
  const step = steps.get(name);
  if (step === undefined)
    throw new UsageError(`Write one of ${[...steps.keys()].join(', ')} after \`sotto ${command}\`.`);
  const ignored = Object.keys(values).find((option) => !step.takes.some((taken) => taken === option));
  if (ignored !== undefined) throw new UsageError(`\`sotto ${command} ${name}\` does not take --${ignored}.`);
  return { step, values, files };
}

/** Throws a `UsageError` for a word that a step does not take. */
export function noFiles([first]: readonly string[]): void {
  if (first !== undefined) throw new UsageError(`"${first}" is not an option.`);
}
