/** The part of https://www.w3.org/TR/trusted-types/ that the pages need. */
type Policy = { createScriptURL(url: string): unknown; createHTML(html: string): unknown };
type TrustedTypes = {
  createPolicy(
    name: string,
    rules: { readonly createScriptURL: (url: string) => string; readonly createHTML: (html: string) => string },
  ): Policy;
};

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes };

/** The one policy of the pages. It is for the service worker and for receipts, and for nothing else. */
const policy = trustedTypes?.createPolicy('tillflow', { createScriptURL: (url) => url, createHTML: (html) => html });

/** The address of the service worker, where a script may come from. */
export function trustedWorker(address: string): string {
  return (policy?.createScriptURL(address) ?? address) as string;
}

/** A receipt of the API as a document, which runs and loads nothing. The API escapes every text in it. */
export function documentOf(receipt: string): Document {
  return new DOMParser().parseFromString((policy?.createHTML(receipt) ?? receipt) as string, 'text/html');
}
