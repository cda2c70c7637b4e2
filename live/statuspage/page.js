// Renews the page when the program says that there is something new. Without it the page is whole, and is renewed by hand.
'use strict';
(() => {
	const main = document.getElementById('main'), base = main.dataset.base, status = document.getElementById('status'), button = document.getElementById('pause');
	if (location.pathname.endsWith('/act')) history.replaceState(null, '', './'); // an action was refused: what is renewed is the page
	let paused = false, busy = false, again = false, heard = 0, renewed = new Date();

	const time = t => t.toTimeString().slice(0, 8);
	const say = (text, lost) => {
		if (status.textContent !== text) status.textContent = text;
		status.className = lost ? 'lost' : '';
	};

	// morph makes a node like another one, and keeps what a visitor has opened, typed or focused.
	const morph = (a, b) => {
		if (a.isEqualNode(b)) return;
		if (a.nodeType !== b.nodeType || a.nodeName !== b.nodeName) return a.replaceWith(document.importNode(b, true));
		if (a.nodeType !== Node.ELEMENT_NODE) return void (a.data !== b.data && (a.data = b.data));
		for (const {name} of [...a.attributes]) if (!b.hasAttribute(name) && !(name === 'open' && a.nodeName === 'DETAILS')) a.removeAttribute(name);
		for (const {name, value} of b.attributes) if (a.getAttribute(name) !== value) a.setAttribute(name, value);
		if (a.contains(document.activeElement) && a.nodeName === 'FORM') return;
		let at = a.firstChild;
		for (const child of [...b.childNodes]) {
			const same = child.id && [...a.children].find(c => c.id === child.id);
			if (same) {
				if (same !== at) a.insertBefore(same, at); else at = at.nextSibling;
				morph(same, child);
			} else if (at && !(at.id && b.querySelector('#' + CSS.escape(at.id)))) {
				const next = at.nextSibling;
				morph(at, child);
				at = next;
			} else a.insertBefore(document.importNode(child, true), at);
		}
		while (at) {
			const next = at.nextSibling;
			at.remove();
			at = next;
		}
	};

	const renew = async () => {
		if (paused || document.hidden) return;
		if (busy) return void (again = true);
		busy = true;
		try {
			const r = await fetch(location.href, {cache: 'no-store', signal: AbortSignal.timeout(10000)});
			const now = new DOMParser().parseFromString(await r.text(), 'text/html');
			if (!now.getElementById('main')) throw new Error(r.status);
			if (paused) return;
			const focus = document.activeElement, x = scrollX, y = scrollY;
			const fresh = new Set([...now.querySelectorAll('[data-live]')].map(e => e.id));
			const old = [...document.querySelectorAll('[data-live]')];
			for (const e of old) {
				const to = now.getElementById(e.id);
				if (to) morph(e, to); else if (e.parentElement === main) e.remove();
			}
			for (const id of fresh) {
				const e = now.getElementById(id), before = e.nextElementSibling;
				if (document.getElementById(id)) continue;
				if (e.parentElement.id === 'main') main.insertBefore(document.importNode(e, true), before && before.id ? document.getElementById(before.id) : null);
			}
			document.title = now.title;
			if (document.activeElement !== focus && focus && focus.isConnected) focus.focus({preventScroll: true});
			if (scrollX !== x || scrollY !== y) scrollTo(x, y);
			renewed = new Date();
			say('live', false);
		} catch (e) {
			say('Not renewed since ' + time(renewed) + ': the program does not answer. What is below is old. The page tries again by itself.', true);
		} finally { // also if it was paused meanwhile
			busy = false;
			if (again) { again = false; setTimeout(renew, 500); }
		}
	};

	// A tab that nobody sees has no stream: a browser keeps six connections to a server, and other tabs need them.
	let events = null;
	const listen = () => {
		if (events) events.close();
		events = null;
		if (document.hidden) return;
		events = new EventSource(base + 'events');
		events.onmessage = () => { heard = Date.now(); renew(); };
	};
	listen();
	// Where events do not come, since a proxy keeps them or too many visitors watch, the page asks.
	setInterval(() => { if (Date.now() - heard > 12500) renew(); }, 2000);
	document.addEventListener('visibilitychange', () => { listen(); renew(); });

	button.hidden = false;
	button.onclick = () => {
		paused = !paused;
		button.textContent = paused ? 'Go on' : 'Pause updates';
		say(paused ? 'paused at ' + time(new Date()) : 'live', false);
		renew();
	};
	document.addEventListener('keydown', e => {
		if (e.key !== '/' || e.ctrlKey || e.metaKey || e.altKey || e.target.closest('input, select, textarea')) return;
		e.preventDefault();
		document.getElementById('search').focus();
	});
})();
