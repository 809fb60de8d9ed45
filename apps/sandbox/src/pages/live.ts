/**
 * Updates the parts of a page that carry `data-live` by loading the page again. It does not replace a part that has the
 * focus or an open `<details>`: the page then says that it has changed. Pages also work without this script.
 */
export const LIVE_SCRIPT = `
(() => {
  const EVERY_MS = 2000;
  const changed = document.getElementById('changed');
  const isBusy = (part) => part.contains(document.activeElement) || part.querySelector('details[open]') !== null;
  const refresh = async () => {
    const response = await fetch(location.href, { cache: 'no-store' });
    if (!response.ok) return;
    const fresh = new DOMParser().parseFromString(await response.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-live]')) {
      const next = fresh.getElementById(part.id);
      if (next === null || next.innerHTML === part.innerHTML) continue;
      if (isBusy(part)) changed.hidden = false;
      else part.innerHTML = next.innerHTML;
    }
  };
  const again = () => setTimeout(async () => {
    if (document.visibilityState === 'visible') await refresh().catch(() => {});
    again();
  }, EVERY_MS);
  again();
})();
`;
