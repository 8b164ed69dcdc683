import * as z from 'zod';

export interface SettingDescription {
  readonly name: string;
  readonly isRequired: boolean;
  /** The values that it accepts. Undefined: any text. */
  readonly takes: string | undefined;
  /** Undefined if it has no fixed default. */
  readonly defaultValue: string | undefined;
  /** The sentence that `.describe()` gave it. */
  readonly meaning: string | undefined;
}

/** Describes every setting of a schema, in the schema's order. Call `.describe()` last: wrapping a schema drops its sentence. */
export const describeSettings = (schema: z.ZodObject): SettingDescription[] =>
  Object.entries(schema.shape).map(([name, setting]) => ({
    name,
    isRequired: !z.safeParse(setting, undefined).success,
    takes: takenBy(setting),
    defaultValue: defaultOf(setting),
    meaning: z.globalRegistry.get(setting)?.description,
  }));

/** Values that no setting, no setting with a value, and no short setting accepts. */
const refused = ['\0', '', 'x'.repeat(1000)];

/** Each error says what the setting takes, so this asks for one. */
function takenBy(setting: z.core.$ZodType): string | undefined {
  for (const value of refused) {
    const parsed = z.safeParse(setting, value);
    if (!parsed.success) return parsed.error.issues[0]?.message.replace(/^takes /, '');
  }
  return undefined;
}

function defaultOf(setting: z.core.$ZodType): string | undefined {
  if (setting instanceof z.ZodDefault) return String(setting.def.defaultValue);
  return setting instanceof z.ZodPipe ? defaultOf(setting.def.in) : undefined;
}
