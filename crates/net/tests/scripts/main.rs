//! Scripts on the model: what a network does to a connection and what one of its ends does then, packet by packet.
//! docs/scripts.md explains their language; the tests of crate `bed` play them on the kernel.

mod came;
mod listed;
mod model;
mod play;
mod script;

use listed::{check, check_list, check_wrong_ones, each_script};
use model::Model;
use play::play;
use script::Side;

mod on_the_model {
    super::each_script!(super::on_the_model_holds);
}

fn on_the_model_holds(name: &str) {
    check(name, Side::Model, |script| Some(play(script, &mut Model::new(&script.config))));
}

#[test]
fn every_script_of_the_folder_is_listed() {
    check_list(on_the_model::LISTED);
}

#[test]
fn a_script_that_is_wrong_does_not_hold() {
    check_wrong_ones(|script| Some(play(script, &mut Model::new(&script.config))));
}
