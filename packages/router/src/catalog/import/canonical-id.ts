import { modelIdPattern } from '../catalog-file.ts';

/**
 * The canonical id `creator/model` of an id in a list, in lower case. A bare id gets the creator that is given.
 * Returns why where none can be made.
 */
export function canonicalId(listed: string, creator: string): { readonly id: string } | { readonly reason: string } {
  if (listed.startsWith('~')) return { reason: 'it is an alias of other models' };
  const colon = listed.indexOf(':');
  if (colon !== -1) return { reason: `it is the variant \`${listed.slice(colon)}\` of another model` };
  const bare = listed.replace(/^accounts\/([^/]+)\/models\//, '$1/').replace(/^models\//, '');
  const id = (bare.includes('/') ? bare : `${creator}/${bare}`).toLowerCase();
  return modelIdPattern.test(id) && id.length <= 200 ? { id } : { reason: 'its id is not of the form creator/model' };
}
