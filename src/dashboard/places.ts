/** Where the page is mounted, and where the API is: both as the server wrote them into the page. */

/** In the URL of a queue: its settings are open. */
export const SETTINGS_ID = "settings";

/** The URL of the page, with a slash at the end. */
export const PAGE_URL = new URL(".", document.baseURI);

/** The URL of the API's root, with a slash at the end. */
export const API_URL = new URL(document.querySelector<HTMLMetaElement>('meta[name="millrace-api"]')?.content ?? "../", PAGE_URL);
