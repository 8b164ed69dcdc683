import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { bearer } from '../../kit/client.ts';
import { type DescribedService, example, freshEmail, scimToken } from './described-service.ts';

/** Tests of the operations by which an identity provider manages people. */
export function describeProvisioning({ toControl, exampleOf }: DescribedService): void {
  const headers = bearer(scimToken);
  const idOf = ({ json }: { readonly json: unknown }): string => (json as { id: string }).id;

  it('is managed by SCIM', async () => {
    for (const id of ['getScimConfig', 'listScimResourceTypes', 'listScimSchemas']) {
      await toControl(id, 200, { headers });
      await toControl(id, 401);
    }
    const person = { ...exampleOf('control', 'createScimUser'), userName: freshEmail() };
    const user = {
      headers,
      parameters: { id: idOf(await toControl('createScimUser', 201, { headers, body: person })) },
    };
    await toControl('createScimUser', 409, { headers, body: person });
    const group = {
      headers,
      parameters: { id: idOf(await toControl('createScimGroup', 201, { headers, body: example })) },
    };
    await toControl('createScimGroup', 409, { headers, body: example });
    await toControl('changeScimGroup', 200, { ...group, body: example });
    const members = [{ value: user.parameters.id }];
    await toControl('replaceScimGroup', 200, { ...group, body: { displayName: 'Engineers', members } });
    await toControl('getScimGroup', 200, group);
    await toControl('listScimGroups', 200, { headers });
    await toControl('getScimUser', 200, user);
    await toControl('replaceScimUser', 200, { ...user, body: person });
    await toControl('listScimUsers', 200, { headers });
    const left = await toControl('changeScimUser', 200, { ...user, body: example });
    expect(left.json).toMatchObject({ active: false });

    const filter = '?filter=x';
    for (const id of ['listScimUsers', 'listScimGroups']) await toControl(id, 400, { headers, query: filter });
    for (const kind of ['User', 'Group']) {
      await toControl(`createScim${kind}`, 400, { headers, body: {} });
      await toControl(`createScim${kind}`, 415, { headers: { ...headers, 'content-type': 'text/plain' }, body: '{}' });
      const { parameters } = kind === 'User' ? user : group;
      await toControl(`deleteScim${kind}`, 204, { headers, parameters });
      const gone = { headers, parameters: { id: randomUUID() } };
      for (const verb of ['get', 'delete']) await toControl(`${verb}Scim${kind}`, 404, gone);
      const body = exampleOf('control', `createScim${kind}`);
      await toControl(`replaceScim${kind}`, 404, { ...gone, body });
      await toControl(`changeScim${kind}`, 404, { ...gone, body: exampleOf('control', `changeScim${kind}`) });
    }
    await toControl('endOpenidSessions', 415, { body: {} });
  });
}
