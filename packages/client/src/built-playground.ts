/**
 * The built page of the playground. The sources, a bundle and the package are each in a folder beside it, so this file must stay
 * in the folder of the sources itself.
 */
export const builtPlayground = new URL('../playground/', import.meta.url);
