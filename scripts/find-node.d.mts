/** Path of the Node to run the project on; throws where there is none. */
export function findNode(
  root: string,
  running?: { readonly execPath: string; readonly versions: { readonly node: string } },
): string;
