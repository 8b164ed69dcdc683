/**
 * Whether a text is a key, ticket or token of Sotto. All of them begin with `sotto_`, and no key of a provider does. Some
 * files of variables keep the quotes around a value.
 */
export const isOwnSecret = (text: string): boolean => /^[\s"']*sotto_/.test(text);

/** Why a variable with such a value is not used, as the end of a sentence that begins with its name. */
export const ownSecretProblem = 'begins with `sotto_`, so it is a key of Sotto itself, which no provider may get';
