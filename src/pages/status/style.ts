/** The page's style: readable on a wall from afar and on a phone, by day and by night. */
export const STYLE = `
:root{color-scheme:light dark;--bg:#f4f5f7;--card:#fff;--text:#16191d;--dim:#5b6470;--line:#dfe3e8;
--good:#137a3f;--busy:#1d5fbf;--warning:#9a5b00;--bad:#b3211b;--goodbg:#e2f4e8;--busybg:#e3edfb;--warningbg:#fdf0d5;--badbg:#fbe3e1;
--ins:#2f9e63;--upd:#4a86d8;--del:#c9605a}
@media (prefers-color-scheme:dark){:root{--bg:#0e1115;--card:#181c22;--text:#e9edf2;--dim:#9aa5b1;--line:#2b323b;
--good:#5fd08d;--busy:#7fb2ff;--warning:#f0b455;--bad:#ff8a82;--goodbg:#12301f;--busybg:#14284a;--warningbg:#3a2a08;--badbg:#431a18;
--ins:#3fae74;--upd:#5b93e0;--del:#d4706a}}
*{box-sizing:border-box}
body{margin:0;background:var(--bg);color:var(--text);overflow-wrap:anywhere;font:16px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main,footer,#lost{max-width:90rem;margin:0 auto;padding:0 clamp(.75rem,2.5vw,2.5rem)}
h2{font-size:1.1rem;margin:2.2rem 0 .7rem}
h3{font-size:1.05rem;margin:0}
p{margin:.3rem 0}
ul{margin:.6rem 0 0;padding-left:1.2rem}
a{color:inherit}
code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em;overflow-wrap:anywhere}
.dim{color:var(--dim)}.old{color:var(--warning);font-weight:650}
.small{font-size:.86rem}
.card{background:var(--card);border:1px solid var(--line);border-radius:.8rem;padding:1rem 1.1rem}
.hero{margin-top:clamp(.75rem,2vw,1.6rem);border-radius:1rem;padding:clamp(1.2rem,3.5vw,3rem);border:1px solid transparent}
.hero h1{font-size:clamp(2rem,6vw,5.2rem);line-height:1.05;letter-spacing:-.02em;margin:0;text-wrap:balance}
.hero p,.hero ul{font-size:clamp(1rem,1.5vw,1.3rem)}
.hero.good{background:var(--goodbg);border-color:var(--good)}.hero.good h1{color:var(--good)}
.hero.busy{background:var(--busybg);border-color:var(--busy)}.hero.busy h1{color:var(--busy)}
.hero.warning{background:var(--warningbg);border-color:var(--warning)}.hero.warning h1{color:var(--warning)}
.hero.bad{background:var(--badbg);border-color:var(--bad)}.hero.bad h1{color:var(--bad)}
.streams{display:grid;gap:.9rem;grid-template-columns:repeat(auto-fit,minmax(min(13.5rem,100%),1fr));margin-top:1rem}
.head{display:flex;flex-wrap:wrap;gap:.6rem;justify-content:space-between;align-items:flex-start}
.badge{border-radius:99rem;padding:.1rem .6rem;font-size:.8rem;font-weight:600;white-space:nowrap}
.badge.good{background:var(--goodbg);color:var(--good)}.badge.busy{background:var(--busybg);color:var(--busy)}
.badge.warning{background:var(--warningbg);color:var(--warning)}.badge.bad{background:var(--badbg);color:var(--bad)}
.badge.off{background:var(--line);color:var(--dim)}
.big{font-size:1.7rem;font-weight:650;letter-spacing:-.01em;margin:.5rem 0 .1rem;line-height:1.15}
dl{display:grid;grid-template-columns:auto 1fr;gap:.1rem .8rem;margin:.6rem 0 .8rem;font-size:.9rem}
dt{color:var(--dim)}dd{margin:0;text-align:right;overflow-wrap:anywhere}
svg{display:block;width:100%}
.succeeded{fill:var(--good)}.failed{fill:var(--bad)}.skipped{fill:var(--dim);opacity:.45}.running{fill:var(--busy)}
.ins{fill:var(--ins)}.upd{fill:var(--upd)}.del{fill:var(--del)}.rows{fill:var(--upd)}.axis{stroke:var(--line);stroke-width:1}
.track{fill:var(--line)}.bar{fill:var(--busy)}
.chart text{fill:var(--dim);font-size:15px}
.progress{border-radius:99rem;overflow:hidden;margin:.3rem 0}
.chart{max-height:14rem}
.key{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;font-size:.85rem;color:var(--dim);margin-top:.5rem}
.key svg{width:.8rem;height:.8rem;display:inline-block;vertical-align:-.08rem;margin-right:.35rem}
table{width:100%;border-collapse:collapse;font-size:.9rem}
table{overflow-wrap:normal}td a{overflow-wrap:anywhere}
th{text-align:left;font-weight:500;color:var(--dim)}
th,td{padding:.4rem .7rem .4rem 0;border-top:1px solid var(--line);vertical-align:top}
thead th{border-top:0}.num{text-align:right;white-space:nowrap}
td.remark{padding-top:0;border-top:0;color:var(--dim);overflow-wrap:anywhere}
.t-good{color:var(--good)}.t-bad{color:var(--bad)}.t-busy{color:var(--busy)}.t-warning{color:var(--warning)}
.two{display:grid;gap:0 .9rem;grid-template-columns:repeat(auto-fit,minmax(min(26rem,100%),1fr))}
.plain{list-style:none;padding:0;margin:0}.plain li{padding:.5rem 0;border-top:1px solid var(--line)}.plain li:first-child{border-top:0;padding-top:0}
footer{color:var(--dim);font-size:.85rem;padding-top:2rem;padding-bottom:2.5rem}
#lost{background:var(--badbg);color:var(--bad);padding-top:.6rem;padding-bottom:.6rem;font-weight:600}
@media (max-width:40rem){.wide{display:none}th,td{padding-right:.35rem}table{font-size:.8rem}.card{padding:.85rem .9rem}.num{white-space:normal}}
@media (min-width:120rem){body{font-size:19px}}
`;

/** Looks again every few seconds and exchanges what is shown; says so when the worker does not answer. */
export const SCRIPT = `
(() => {
  const lost = document.getElementById('lost');
  let asking = false;
  const look = async () => {
    if (document.hidden || asking) return;
    asking = true;
    try {
      const answer = await fetch(location.pathname + location.search, { cache: 'no-store', signal: AbortSignal.timeout(8000) });
      if (!answer.ok) throw new Error(String(answer.status));
      // Its style is ours already, and under our nonce the policy would refuse it.
      const text = (await answer.text()).replace(/<style[^]*?<\\/style>/, '');
      const next = new DOMParser().parseFromString(text, 'text/html');
      for (const part of ['main', 'footer', 'link[rel=icon]'])
        document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
      document.title = next.title;
      lost.hidden = true;
    } catch {
      if (lost.hidden) lost.textContent = 'No answer from the worker since ' + new Date().toLocaleTimeString() + '. What is shown is old.';
      lost.hidden = false;
    }
    asking = false;
  };
  setInterval(look, 10000);
  document.addEventListener('visibilitychange', look);
})();
`;
